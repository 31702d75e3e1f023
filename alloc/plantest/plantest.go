// Package plantest asks C's planner from Go, for the tests that hold it equal to Go's.
package plantest

// #cgo CFLAGS: -std=gnu11 -Wall -Wextra
// #include <stdlib.h>
// #include "../planner.h"
import "C"

import (
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/record"
)

// NewPlan is alloc.NewPlan, worked out by C. No list but the shape may have more than 32 entries.
func NewPlan(s *alloc.Spec) (*alloc.Plan, error) {
	preset := C.gb_preset{order: C.GB_BY_INDEX, alignment: 1, device: 1}
	if p := s.Preset; p != nil {
		preset = C.gb_preset{order: C.int32_t(p.Order), alignment: C.int64_t(p.Alignment), device: C.int32_t(p.Device)}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&preset.axes[0])), len(preset.axes)-1), p.Axes)
	}
	r := C.gb_request{
		ndim: C.int32_t(len(s.Shape)), sub_ndim: C.int32_t(s.SubShape), device: C.int32_t(s.Device),
		device_id: C.int32_t(s.DeviceID), memory: C.int32_t(s.Memory), itemsize: C.int64_t(s.ItemSize),
		byte_alignment: C.int64_t(s.ByteAlignment), padding: C.int64_t(s.Padding), alignment: C.int64_t(s.Alignment),
		dims_len: -1, aligned_len: -1, layout_len: -1,
	}
	copy(unsafe.Slice((*int64)(&r.shape[0]), C.GB_MAXDIMS), s.Shape)
	if s.Dims != nil {
		r.dims_len = C.int32_t(copy(unsafe.Slice((*alloc.Dim)(&r.dims[0]), C.GB_MAXDIMS), s.Dims))
	}
	if s.AlignedIndex != nil {
		r.aligned_len = C.int32_t(copy(unsafe.Slice((*int64)(&r.aligned_index[0]), C.GB_MAXDIMS), s.AlignedIndex))
	}
	if s.Layout != nil {
		r.layout_len = C.int32_t(copy(unsafe.Slice((*int32)(&r.layout[0]), C.GB_MAXDIMS), s.Layout))
	}
	return answered(len(s.Shape), func(p *C.gb_plan, e *C.gb_error) C.int { return C.gb_plan_request(&r, &preset, p, e) })
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
	return answered(n, func(p *C.gb_plan, e *C.gb_error) C.int { return C.gb_plan_read_back(g, C.uintptr_t(addr), p, e) })
}

func answered(n int, ask func(*C.gb_plan, *C.gb_error) C.int) (*alloc.Plan, error) {
	var e C.gb_error
	c := C.gb_plan_new(C.int(n))
	defer C.free(unsafe.Pointer(c))
	if ask(c, &e) != 0 {
		return nil, &alloc.Error{Kind: alloc.Kind(e.kind), Message: C.GoString(&e.message[0])}
	}
	C.gb_plan_finish(c)
	return alloc.PlanOf(record.Plan(c)), nil
}
