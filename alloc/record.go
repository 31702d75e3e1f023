package alloc

// #include "plan.h"
import "C"

import (
	"slices"
	"unsafe"

	"gridbuf/internal/record"
)

// PlanInto has C work a request out into its own record of a plan, which has room for the shape: the extension has C's planner in any case,
// and tests hold it equal to the one in Go. No list but the shape may have more than MaxDims entries.
func PlanInto(at record.Plan, s *Spec) error {
	if at == nil || s == nil {
		return ErrInvalid.Errorf("at, s: the record of a plan and a Spec are needed, and one is nil")
	}
	preset := C.gb_preset{order: C.GB_BY_INDEX, alignment: 1, device: C.GB_CPU}
	if p := s.Preset; p != nil {
		preset = C.gb_preset{order: C.int32_t(p.Order), alignment: C.int64_t(p.Alignment), device: C.int32_t(p.Device)}
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&preset.axes[0])), len(preset.axes)-1), p.Axes)
	}
	r := C.gb_request{
		ndim: C.int32_t(len(s.Shape)), sub_ndim: C.int32_t(s.SubShape), device: C.int32_t(s.Device), device_id: C.int32_t(s.DeviceID),
		memory: C.int32_t(s.Memory), itemsize: C.int64_t(s.ItemSize), byte_alignment: C.int64_t(s.ByteAlignment),
		padding: C.int64_t(s.Padding), alignment: C.int64_t(s.Alignment), dims_len: given(s.Dims), aligned_len: given(s.AlignedIndex),
		layout_len: given(s.Layout),
	}
	copy(unsafe.Slice((*int64)(&r.shape[0]), MaxDims), s.Shape)
	copy(unsafe.Slice((*Dim)(&r.dims[0]), MaxDims), s.Dims)
	copy(unsafe.Slice((*int64)(&r.aligned_index[0]), MaxDims), s.AlignedIndex)
	copy(unsafe.Slice((*int32)(&r.layout[0]), MaxDims), s.Layout)
	var e C.gb_error
	if C.gb_plan_request(&r, &preset, (*C.gb_plan)(at), &e) != 0 {
		return &Error{Kind: Kind(e.kind), Message: C.GoString(&e.message[0])}
	}
	return nil
}

// PlanOf is a copy of a plan that C keeps; nil of nil.
func PlanOf(at record.Plan) *Plan {
	if at == nil {
		return nil
	}
	f := (*C.gb_plan)(at)
	p := view(f)
	p.shape, p.strides, p.paddedShape = slices.Clone(p.shape), slices.Clone(p.strides), slices.Clone(p.paddedShape)
	p.alignedIndex, p.layout, p.dims = slices.Clone(p.alignedIndex), slices.Clone(p.layout), slices.Clone(p.dims)
	p.itemSize, p.size, p.bytes = int64(f.geometry.itemsize), int64(f.geometry.size), int64(f.geometry.nbytes)
	p.byteAlignment, p.offset = int64(f.want.boundary), int64(f.want.offset)
	p.span, p.reserve = int64(f.want.span), int64(f.want.reserve)
	p.device, p.deviceID, p.memory = Device(f.device), int(f.device_id), Memory(f.memory)
	return &p
}

// record is a copy of the plan for C, to be freed; nil without memory.
func (p *Plan) record() *C.gb_plan {
	f := C.gb_plan_new(C.int(len(p.shape)))
	if f == nil {
		return nil
	}
	to := view(f)
	copy(to.shape, p.shape)
	copy(to.strides, p.strides)
	copy(to.paddedShape, p.paddedShape)
	copy(to.alignedIndex, p.alignedIndex)
	copy(to.layout, p.layout)
	copy(to.dims, p.dims)
	p.store(f)
	C.gb_plan_finish(f)
	return f
}

// view is a plan whose lists are the record's.
func view(f *C.gb_plan) Plan {
	g := &f.geometry
	n := int(g.ndim)
	return Plan{
		shape: unsafe.Slice((*int64)(g.shape), n), strides: unsafe.Slice((*int64)(g.strides), n),
		paddedShape: unsafe.Slice((*int64)(f.padded_shape), n), alignedIndex: unsafe.Slice((*int64)(f.aligned_index), n),
		layout: unsafe.Slice((*int32)(f.layout), n), dims: unsafe.Slice((*Dim)(g.dims), n),
	}
}

// store writes the numbers beside the lists; C derives the geometry's rest (gb_plan_finish).
func (p *Plan) store(f *C.gb_plan) {
	f.geometry.itemsize = C.int64_t(p.itemSize)
	f.want = p.want()
	f.want.reserve = C.int64_t(reserved(p.span, p.byteAlignment))
	f.device, f.device_id, f.memory = C.int32_t(p.device), C.int32_t(p.deviceID), C.int32_t(p.memory)
}

func (p *Plan) want() C.gb_heap_layout {
	return C.gb_heap_layout{
		span: C.int64_t(p.span), boundary: C.int64_t(p.byteAlignment),
		offset: C.int64_t(p.offset), reserve: C.int64_t(p.reserve),
	}
}

// reserved is how many bytes the heap sets aside for span bytes on a boundary.
func reserved(span, boundary int64) int64 {
	return int64(C.gb_heap_reserve(C.int64_t(span), C.int64_t(boundary)))
}
