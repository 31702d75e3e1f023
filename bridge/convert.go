package bridge

// #include "types.h"
import "C"

import (
	"unsafe"

	"gridbuf/alloc"
)

// plan answers a request. The lists of the spec lie in C memory and are only read.
func plan(r *C.gb_request, out *C.gb_plan) error {
	preset, err := alloc.PresetByNumber(int(r.backend))
	if err != nil {
		return err
	}
	spec := alloc.Spec{
		Shape:    unsafe.Slice((*int64)(&r.shape[0]), int(r.ndim)),
		SubShape: int(r.sub_ndim), ItemSize: int64(r.itemsize), Preset: preset,
		ByteAlignment: int64(r.byte_alignment), Padding: int64(r.padding), Alignment: int64(r.alignment),
		Device: alloc.Device(r.device), DeviceID: int(r.device_id), Memory: alloc.Memory(r.memory),
	}
	if r.dims_len >= 0 {
		spec.Dims = unsafe.Slice((*alloc.Dim)(&r.dims[0]), int(r.dims_len))
	}
	if r.aligned_len >= 0 {
		spec.AlignedIndex = unsafe.Slice((*int64)(&r.aligned_index[0]), int(r.aligned_len))
	}
	if r.layout_len >= 0 {
		spec.Layout = unsafe.Slice((*int32)(&r.layout[0]), int(r.layout_len))
	}
	return alloc.AnswerInto(unsafe.Pointer(out), &spec)
}

func describe(g *C.gb_geometry, data uintptr, out *C.gb_plan) error {
	n := int(g.ndim)
	return alloc.DescribeInto(unsafe.Pointer(out),
		unsafe.Slice((*int64)(g.shape), n), unsafe.Slice((*int64)(g.strides), n),
		unsafe.Slice((*alloc.Dim)(g.dims), n), int64(g.itemsize), data)
}
