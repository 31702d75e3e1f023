package alloc

// #include "plan.h"
import "C"

import (
	"slices"
	"unsafe"

	"gridbuf/internal/record"
)

// PlanInto works out a request into the C side's own record of a plan, which has room for the shape and
// is read without entering Go. The lists are written in place.
func PlanInto(at record.Plan, s *Spec) error {
	p := view((*C.gb_plan)(at))
	if err := p.fill(s); err != nil {
		return err
	}
	p.store((*C.gb_plan)(at))
	return nil
}

// PlanOf is a copy of a plan that C keeps.
func PlanOf(at record.Plan) *Plan {
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
