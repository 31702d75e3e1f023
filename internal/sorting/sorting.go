// Package sorting sorts short lists: the indices of an array, the names of kernels. Package slices
// has a sort for long lists, which is 4 KB in the extension for each type of elements.
package sorting

// Stable sorts by insertion; compare is negative where its first comes before its second.
func Stable[T any](list []T, compare func(a, b T) int) {
	for i := 1; i < len(list); i++ {
		item, at := list[i], i
		for ; at > 0 && compare(item, list[at-1]) < 0; at-- {
			list[at] = list[at-1]
		}
		list[at] = item
	}
}
