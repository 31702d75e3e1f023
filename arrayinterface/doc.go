// Package arrayinterface describes arrays as __array_interface__ version 3 does, and reads such
// descriptions from others:
//
//	array, err := arrayinterface.Parse(arrayinterface.Interface{
//		Shape: []int64{2, 3}, Typestr: "<f4", Data: address, Version: 3,
//	})
//	view, err := array.View() // for copies, sums and kernels
//
// [Parse] checks a dictionary of a foreign object and gives a [Description] with everything filled
// in; [Describe] goes the other way, [DescribePlan] begins with the plan of a buffer.
// [ParseTypestr] reads the type of an item alone.
//
// Nothing in a foreign description is trusted: sizes are checked for overflow, and a refusal names
// the key, its value and what is allowed.
//
// # Where readers differ
//
// NumPy believes a dictionary: it allocates where the address is 0, looks at no stride, and makes
// references to Python objects of foreign bytes. Sound descriptions that NumPy takes are taken
// here, with these exceptions:
//
//   - The byte order is <, > or |: '=' and none at all, which only np.dtype knows, are refused, and
//     so is the kind t (bit fields), which NumPy cannot read either.
//   - An item has at least one byte.
//   - The items of a structured array are bytes ("|V12"), whose fields this package does not read.
//   - Sizes of 0 count as 1 when the size of an array is held against 2^63.
//   - Addresses are not negative, and elements do not leave the address space.
package arrayinterface
