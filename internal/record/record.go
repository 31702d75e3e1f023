// Package record hands C's own records between packages of this module: those of plans to package
// alloc, and out of what package gufunc gives to the extension, which frees them itself. A program
// that uses the module cannot import it.
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

// Set by package gufunc.
var (
	Call      func(call any) unsafe.Pointer      // of a *gufunc.Call: gb_gu_call_free gives it back
	Reduction func(reduction any) unsafe.Pointer // of a *gufunc.Reduction: gb_gu_reduction_free
	Fused     func(fused any) unsafe.Pointer     // of a *gufunc.Fused: gb_gu_fused_free
)
