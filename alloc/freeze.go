package alloc

// #include <stdlib.h>
// #include "plan.h"
import "C"

import "unsafe"

// Freeze writes the plan into C memory (a gb_plan of plan.h), where the extension
// keeps it and every export reads it without entering Go. The caller owns the
// result and releases it with C's free.
func (p *Plan) Freeze() (unsafe.Pointer, error) {
	n := len(p.Shape)
	f := C.gb_plan_new(C.int(n))
	if f == nil {
		return nil, memoryErrorf("no memory left for a plan of %d indices", n)
	}
	g := &f.geometry
	g.itemsize = C.int64_t(p.ItemSize)
	copy(unsafe.Slice((*int64)(g.shape), n), p.Shape)
	copy(unsafe.Slice((*int64)(g.strides), n), p.Strides)
	copy(unsafe.Slice((*int64)(f.padded_shape), n), p.PaddedShape)
	copy(unsafe.Slice((*int64)(f.aligned_index), n), p.AlignedIndex)
	copy(unsafe.Slice((*Dim)(g.dims), n), p.Dims)
	layout := unsafe.Slice((*int32)(f.layout), n)
	for i, rank := range p.Layout {
		layout[i] = int32(rank)
	}
	f.want = p.want()
	f.device, f.device_id, f.memory = C.int32_t(p.Device), C.int32_t(p.DeviceID), C.int32_t(p.Memory)
	C.gb_geometry_finish(g)
	return unsafe.Pointer(f), nil
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
