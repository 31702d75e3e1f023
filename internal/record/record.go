// Package record has the doors of packages alloc and gufunc that programs do not see: C's records,
// which the extension frees itself, and what only the extension asks.
package record

import "unsafe"

// Plan is the address of a gb_plan (alloc/plan.h) with room for its lists.
type Plan unsafe.Pointer

// PlanInto works an *alloc.Spec out into C's record. Package alloc sets it.
var PlanInto func(at Plan, spec any) error

// Set by package gufunc, whose types the arguments have.
var (
	Call      func(call any) unsafe.Pointer      // of a *Call: gb_gu_call_free gives it back
	Reduction func(reduction any) unsafe.Pointer // of a *Reduction: gb_gu_reduction_free
	Fused     func(fused any) unsafe.Pointer     // of a *Fused: gb_gu_fused_free
	// Fuse is gufunc.Fuse for a program that takes parameters, too: a *Fused.
	Fuse func(inputs, parameters, steps any, outputs []int) (any, error)

	// TurnShapes brings the core dimensions of every operand's shape in a *Request to its end.
	TurnShapes func(g, request any) error
	// SelectAsked finds a kernel for []TypeArg by the []Type that were asked for.
	SelectAsked func(g, inputs, wanted any, casting uint8) (int, error)
)
