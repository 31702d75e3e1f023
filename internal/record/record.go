// Package record names C's own records of plans, so that only this module can hand one to package
// alloc: a program that uses the module cannot import it.
package record

import "unsafe"

// Plan is the address of a gb_plan (alloc/plan.h) with room for its lists.
type Plan unsafe.Pointer

// Figures are those of a plan: shape, strides, padded shape, aligned index and layout with an entry
// for each index, then the bytes of an item, of the boundary, of the offset, of all elements, and
// those that are reserved.
type Figures []int64

// How many lists and numbers there are.
const (
	Lists   = 5
	Numbers = 5
)
