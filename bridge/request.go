package bridge

// #include "gufunc.h"
import "C"

import (
	"slices"
	"strconv"

	"gridbuf/alloc"
	"gridbuf/gufunc"
)

// A request crosses the border as a list of 64-bit integers, which is also the key under
// which the extension keeps the answer:
//
//	kernel, operands and flags, then per operand (and the mask)
//	type, flags and dimensions, shape, strides, names where there are any;
//	then the axis, or its name, or the number of entries in axes, their lengths and axes;
//	then the known sizes.
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
		Type: alloc.Type(head & 0xff), Swapped: head&C.GB_BRIDGE_O_SWAPPED != 0,
		Misaligned: head&C.GB_BRIDGE_O_MISALIGNED != 0,
		Absent:     head&C.GB_BRIDGE_O_ABSENT != 0,
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

// A reduction crosses the border as 64-bit integers, which are also the key under which the
// extension keeps the answer:
//
//	kernel and state, flags and the numbers of results and axes, which axes are names, the axes,
//	then the array, the mask and the results as operands of a call.
//
// gufunc.h has the bits of the flags.

func readReduceRequest(encoding []int64) (*gufunc.ReduceRequest, error) {
	r := reader{encoding: encoding}
	head := r.take(2)
	flags := head[1]
	q := &gufunc.ReduceRequest{
		Kernel:     int(head[0] & 0xffffffff),
		State:      head[0]>>C.GB_BRIDGE_R_STATE != 0,
		KeepDims:   flags&C.GB_BRIDGE_R_KEEPDIMS != 0,
		Sequential: flags&C.GB_BRIDGE_R_SEQUENTIAL != 0,
		OneByOne:   flags&C.GB_BRIDGE_R_ONE_BY_ONE != 0,
		Identity:   flags&C.GB_BRIDGE_R_IDENTITY != 0,
	}
	names, axes := r.take(1)[0], r.take(flags>>C.GB_BRIDGE_R_AXES&0xff)
	q.Array = r.operand()
	if flags&C.GB_BRIDGE_R_MASK != 0 {
		mask := r.operand()
		q.Where = &mask
	}
	for range flags >> C.GB_BRIDGE_R_RESULTS & 0xff {
		q.Outs = append(q.Outs, r.operand())
	}
	if r.short {
		return nil, refused("a request of %d integers ends too early", len(encoding))
	}
	if flags&C.GB_BRIDGE_R_ALL_AXES != 0 {
		for a := range q.Array.Shape {
			q.Axes = append(q.Axes, a)
		}
	} else if err := findAxes(q, axes, names); err != nil {
		return nil, err
	}
	if flags&C.GB_BRIDGE_R_ONE_AXIS != 0 && len(q.Axes) > 1 {
		return nil, alloc.ErrInvalid.Errorf("axis: the operation is not reorderable, so at most " +
			"one axis may be given, or ordered=True")
	}
	return q, nil
}

// findAxes finds the axes that were given: names where names has a bit, else numbers, from the end
// where they are negative.
func findAxes(q *gufunc.ReduceRequest, given []int64, names int64) error {
	ndim := int64(len(q.Array.Shape))
	for i, a := range given {
		text, at, why := strconv.FormatInt(a,
			10), a, "does not fit the array, which has "+strconv.FormatInt(ndim, 10)+" dimensions"
		if names>>i&1 != 0 {
			text, why = alloc.Dim(a).String(), "is none of the array's indices"
			at = int64(slices.Index(q.Array.Dims, alloc.Dim(a)))
			if q.Array.Dims == nil {
				why = "is a name, and the array has none; give its number, or a Field"
			}
		} else if ndim == 0 && (a == 0 || a == -1) { // as NumPy
			continue
		} else if a < 0 {
			at = a + ndim
		}
		if at < 0 || at >= ndim {
			return alloc.ErrInvalid.Errorf("axis: %s %s", text, why)
		}
		if slices.Contains(q.Axes, int(at)) {
			return alloc.ErrInvalid.Errorf("axis: %s is there twice", text)
		}
		q.Axes = append(q.Axes, int(at))
	}
	return nil
}
