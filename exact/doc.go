// Package exact sums numbers without rounding:
//
//	var sum exact.Sum
//	err := sum.Add(salt, transfer.Options{}) // a view, as for copies
//	fmt.Println(sum.Float64())
//
// A [Sum] is an integer that is wide enough for every finite float64 and for the product of any
// two. Numbers are added to it as integers, so that their order, the threads and the machines among
// which they were divided make no difference; [Sum.Float64] rounds once. [Sum.AddProducts] sums
// products of two arrays. Sums of several processes are added by [Sum.Merge].
package exact

// For maintainers. Single numbers go into chunks of 32 bits (exact.c, after R. M. Neal,
// arXiv 1505.05571). Arrays do not: the kernels (kernels_body.h) add and subtract a power of two
// that is large against a block of numbers, which splits each into parts of which thousands add up
// without an error; only their sums go into the chunks. The rest of numbers that are small against
// their block, and blocks of numbers near the ends of the range, go one by one. Products are split
// by FMA, or multiplied as integers where that would not be exact. The flags say c11 and not gnu11:
// the compiler then makes no FMA of a product and a sum.

// #cgo CFLAGS: -std=c11 -O3 -fvisibility=hidden -Wall -Wextra
// #include "exact.h"
import "C"
