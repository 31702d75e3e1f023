// Package exact sums numbers without rounding.
//
// A [Sum] is an integer that is wide enough for every finite float64 and for the
// product of any two. Numbers are added to it as integers, so that the order, the
// threads and the machines among which they were divided make no difference; the
// result is rounded once, when it is asked for.
//
// # How
//
// Single numbers go into chunks of 32 bits (superaccumulator.c, after R. M. Neal,
// arXiv 1505.05571). Arrays do not: the kernels (kernels_body.h) add and subtract a
// power of two that is large against a block of numbers, which splits each into
// parts of which thousands add up without an error; only their sums go into the
// chunks. What is left of numbers that are small against their block, and blocks of
// numbers near the ends of the range, go one by one.
//
// Products are split by FMA, or multiplied as integers where that would not be exact.
//
// The flags say c11 and not gnu11: the compiler then makes no FMA of a product and a sum of ours.
package exact

// #cgo CFLAGS: -std=c11 -O3 -fvisibility=hidden -Wall -Wextra
// #include "exact.h"
import "C"
