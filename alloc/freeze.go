package alloc

// #include "plan.h"
import "C"

import (
	"unsafe"

	"gridbuf/internal/record"
)

// AnswerInto works out a request into the C side's own record of a plan, which has room for the shape and
// is read without entering Go. The lists are written in place.
func AnswerInto(at record.Plan, s *Spec) error {
	p := over((*C.gb_plan)(at))
	if err := p.answer(s); err != nil {
		return err
	}
	p.seal((*C.gb_plan)(at))
	return nil
}

// readRecord is the plan that C keeps; its lists are the record's.
func readRecord(at record.Plan) *Plan {
	f := (*C.gb_plan)(at)
	p := over(f)
	p.ItemSize, p.Size, p.Bytes = int64(f.geometry.itemsize), int64(f.geometry.size), int64(f.geometry.nbytes)
	p.ByteAlignment, p.Offset = int64(f.want.boundary), int64(f.want.offset)
	p.Span, p.AllocBytes = int64(f.want.span), int64(f.want.reserve)
	p.Device, p.DeviceID, p.Memory = Device(f.device), int(f.device_id), Memory(f.memory)
	return &p
}

// record is a copy of the plan for C, to be freed; nil without memory.
func (p *Plan) record() *C.gb_plan {
	f := C.gb_plan_new(C.int(len(p.Shape)))
	if f == nil {
		return nil
	}
	to := over(f)
	copy(to.Shape, p.Shape)
	copy(to.Strides, p.Strides)
	copy(to.PaddedShape, p.PaddedShape)
	copy(to.AlignedIndex, p.AlignedIndex)
	copy(to.Layout, p.Layout)
	copy(to.Dims, p.Dims)
	p.seal(f)
	C.gb_plan_finish(f)
	return f
}

// over is a plan whose lists are the record's.
func over(f *C.gb_plan) Plan {
	g := &f.geometry
	n := int(g.ndim)
	return Plan{
		Shape: unsafe.Slice((*int64)(g.shape), n), Strides: unsafe.Slice((*int64)(g.strides), n),
		PaddedShape: unsafe.Slice((*int64)(f.padded_shape), n), AlignedIndex: unsafe.Slice((*int64)(f.aligned_index), n),
		Layout: unsafe.Slice((*int32)(f.layout), n), Dims: unsafe.Slice((*Dim)(g.dims), n),
	}
}

// seal writes the numbers beside the lists; C derives the geometry's rest (gb_plan_finish).
func (p *Plan) seal(f *C.gb_plan) {
	f.geometry.itemsize = C.int64_t(p.ItemSize)
	f.want = p.want()
	f.want.reserve = C.int64_t(reserved(p.Span, p.ByteAlignment))
	f.device, f.device_id, f.memory = C.int32_t(p.Device), C.int32_t(p.DeviceID), C.int32_t(p.Memory)
}

func (p *Plan) want() C.gb_want {
	return C.gb_want{
		span: C.int64_t(p.Span), boundary: C.int64_t(p.ByteAlignment),
		offset: C.int64_t(p.Offset), reserve: C.int64_t(p.AllocBytes),
	}
}

// reserved is how many bytes the heap sets aside for span bytes on a boundary.
func reserved(span, boundary int64) int64 {
	return int64(C.gb_reserve(C.int64_t(span), C.int64_t(boundary)))
}
