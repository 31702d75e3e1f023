package bridge

// #include "gufunc.h"
import "C"

import (
	"gridbuf/alloc"
	"gridbuf/gufunc"
)

// A request crosses the border as a list of 64-bit integers, which is also the key under
// which the extension keeps the answer:
//
//	kernel, operands and flags, then per operand (and the mask)
//	type, flags and dimensions, shape, strides, names where there are any;
//	then the axis, or its name, or how many entries axes has and how many axes each, and which; then the known sizes.
//
// gufunc.h says which bits the flags are.

// reader takes integers off the front; short is set when there are not enough.
type reader struct {
	encoding []int64
	short    bool
}

func (r *reader) take(n int64) []int64 {
	if n < 0 || n > int64(len(r.encoding)) {
		r.short = true
		return make([]int64, max(min(n, alloc.MaxDims+gufunc.MaxCore), 0))
	}
	taken := r.encoding[:n:n]
	r.encoding = r.encoding[n:]
	return taken
}

func (r *reader) operand() gufunc.Operand {
	head := r.take(1)[0]
	o := gufunc.Operand{
		Type: gufunc.Type(head & 0xff), Swapped: head&C.GB_BRIDGE_O_SWAPPED != 0, Misaligned: head&C.GB_BRIDGE_O_MISALIGNED != 0,
		Absent: head&C.GB_BRIDGE_O_ABSENT != 0,
	}
	ndim := head >> C.GB_BRIDGE_O_NDIM & 0xff
	o.Shape, o.Strides = r.take(ndim), r.take(ndim)
	if head&C.GB_BRIDGE_O_NAMED != 0 {
		o.Dims = []alloc.Dim{}
		for _, d := range r.take(ndim) {
			o.Dims = append(o.Dims, alloc.Dim(d))
		}
	}
	return o
}

func (r *reader) axes(q *gufunc.Request, flags int64) {
	q.KeepDims = flags&C.GB_BRIDGE_KEEPDIMS != 0
	if flags&C.GB_BRIDGE_AXIS != 0 {
		q.Axis = &r.take(1)[0]
	}
	if flags&C.GB_BRIDGE_AXIS_NAME != 0 {
		name := alloc.Dim(r.take(1)[0])
		q.AxisName = &name
	}
	if flags&C.GB_BRIDGE_AXES != 0 {
		q.Axes = [][]int64{}
		for n := r.take(1)[0]; n > 0 && !r.short; n-- {
			q.Axes = append(q.Axes, r.take(r.take(1)[0]))
		}
	}
}

func readRequest(encoding []int64) (*gufunc.Request, error) {
	r := reader{encoding: encoding}
	head := r.take(2)
	q := &gufunc.Request{Kernel: int(head[0])}
	for range head[1] & 0xff {
		q.Operands = append(q.Operands, r.operand())
	}
	if head[1]&C.GB_BRIDGE_MASK != 0 {
		mask := r.operand()
		q.Where = &mask
	}
	r.axes(q, head[1])
	if head[1]&C.GB_BRIDGE_SIZES != 0 {
		q.Sizes = r.take(int64(len(r.encoding)))
	}
	if r.short {
		return nil, refused("a request of %d integers ends too early", len(encoding))
	}
	return q, nil
}
