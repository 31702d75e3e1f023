// Package cudaarrayinterface describes device memory as __cuda_array_interface__ version 3 does,
// and reads such descriptions from others:
//
//	array, err := cudaarrayinterface.Parse(cudaarrayinterface.Interface{
//		Shape: []int64{2, 3}, Typestr: "<f4", Data: address, HasStream: true, Stream: 1, Version: 3,
//	})
//
// The types and layouts are those of package arrayinterface. An array without elements has address
// 0, a stream may still have work on the array in flight, and the host cannot read the memory.
package cudaarrayinterface
