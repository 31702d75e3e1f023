// Package plantest asks C's planner from Go, for the tests that hold it equal to Go's.
package plantest

// #cgo CFLAGS: -std=gnu11 -Wall -Wextra
// #include <stdlib.h>
// #include "../../plan.h"
import "C"

import (
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/record"
)

// NewPlan is alloc.NewPlan, worked out by C. No list but the shape may have more than 32 entries.
func NewPlan(s *alloc.Spec) (*alloc.Plan, error) {
	c := C.gb_plan_new(C.int(len(s.Shape)))
	defer C.free(unsafe.Pointer(c))
	if err := alloc.PlanInto(record.Plan(c), s); err != nil {
		return nil, err
	}
	C.gb_plan_finish(c)
	return alloc.PlanOf(record.Plan(c)), nil
}

// Describe is alloc.Describe, worked out by C; dims must be given.
func Describe(shape, strides []int64, dims []alloc.Dim, itemSize int64, addr uintptr) (*alloc.Plan, error) {
	n := len(shape)
	from := C.gb_plan_new(C.int(n))
	defer C.free(unsafe.Pointer(from))
	g := &from.geometry
	copy(unsafe.Slice((*int64)(g.shape), n), shape)
	copy(unsafe.Slice((*int64)(g.strides), n), strides)
	copy(unsafe.Slice((*alloc.Dim)(g.dims), n), dims)
	g.itemsize = C.int64_t(itemSize)
	var e C.gb_error
	c := C.gb_plan_new(C.int(n))
	defer C.free(unsafe.Pointer(c))
	if C.gb_plan_read_back(g, C.uintptr_t(addr), c, &e) != 0 {
		return nil, &alloc.Error{Kind: alloc.Kind(e.kind), Message: C.GoString(&e.message[0])}
	}
	C.gb_plan_finish(c)
	return alloc.PlanOf(record.Plan(c)), nil
}
