package bridge

// #include "gufunc.h"
import "C"

import (
	"slices"
	"strconv"

	"gridbuf/alloc"
	"gridbuf/gufunc"
)

// A reduction crosses the border as 64-bit integers, which are also the key under which the extension
// keeps the answer:
//
//	kernel and state, flags and how many results and axes, which axes are names, the axes, then the array,
//	the mask and the results as operands of a call. gufunc.h says which bits the flags are.

func readReduceRequest(encoding []int64) (*gufunc.ReduceRequest, error) {
	r := reader{encoding: encoding}
	head := r.take(2)
	flags := head[1]
	q := &gufunc.ReduceRequest{
		Kernel: int(head[0] & 0xffffffff), State: head[0]>>C.GB_BRIDGE_R_STATE != 0,
		KeepDims: flags&C.GB_BRIDGE_R_KEEPDIMS != 0, Sequential: flags&C.GB_BRIDGE_R_SEQUENTIAL != 0,
		OneByOne: flags&C.GB_BRIDGE_R_ONE_BY_ONE != 0, Identity: flags&C.GB_BRIDGE_R_IDENTITY != 0,
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
		return nil, alloc.ErrInvalid.Errorf("axis: the operation is not reorderable, so at most one axis may be given, or ordered=True")
	}
	return q, nil
}

// findAxes finds the axes that were given: names where names has a bit, else numbers, from the end where they are negative.
func findAxes(q *gufunc.ReduceRequest, given []int64, names int64) error {
	ndim := int64(len(q.Array.Shape))
	for i, a := range given {
		text, at, why := strconv.FormatInt(a, 10), a, "does not fit the array, which has "+strconv.FormatInt(ndim, 10)+" dimensions"
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
