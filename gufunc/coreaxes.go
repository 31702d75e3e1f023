package gufunc

// #include <stdlib.h>
// #include "call.h"
import "C"

import (
	"slices"
	"unsafe"

	"gridbuf/alloc"
)

// coreAxes says where the core of a new output goes: axes of the output, from the end where they are negative.
type coreAxes struct {
	axes  []int64
	keep  bool        // they are axes of size 1 that the memory has not
	names []alloc.Dim // of kept axes
	named bool        // by name: where it belongs in the order I, J, K, 0, 1, ... of the outer dimensions
}

// from says for each axis of the output which one of its memory it is: -1-k stands for the kept axis k. dims are the memory's.
func (p *coreAxes) from(dims []alloc.Dim) ([]int, error) {
	kept := 0
	if p.keep {
		kept = len(p.axes)
	}
	total := len(dims) + kept
	rest := total - len(p.axes)
	from := slices.Repeat([]int{total}, total)
	for k, axis := range p.axes {
		at := int(axis)
		if at < 0 {
			at += total
		}
		if p.named {
			name := alloc.Dim(0)
			if !p.keep {
				name = dims[rest+k]
			} else if p.names != nil {
				name = p.names[k]
			}
			for at = 0; at < rest && dims[at] < name; at++ {
			}
		}
		if at < 0 || at >= total || from[at] != total {
			return nil, setupError("axes: %d does not fit an output with %d dimensions", axis, total)
		}
		from[at] = rest + k
		if p.keep {
			from[at] = -1 - k
		}
	}
	next := 0
	for d := range from {
		if from[d] == total {
			from[d] = next
			next++
		}
	}
	return from, nil
}

// reorder gives the plan of an output the order of axes that was asked for. It takes the plan.
func (p *coreAxes) reorder(made *C.gb_plan, outer int) (*C.gb_plan, error) {
	g := &made.geometry
	n := int(g.ndim)
	if len(p.axes) == 0 || !p.keep && n-outer != len(p.axes) { // an optional dimension is missing: nothing moves
		return made, nil
	}
	dims := unsafe.Slice((*alloc.Dim)(g.dims), n)
	from, err := p.from(dims)
	if err == nil && len(from) > alloc.MaxDims {
		err = setupError("keepdims: the output would have %d dimensions; at most %d are allowed", len(from), int(alloc.MaxDims))
	}
	if err != nil {
		return made, err
	}
	to := C.gb_plan_new(C.int(len(from)))
	if to == nil {
		return made, alloc.ErrNoMemory.Errorf("no memory left for a call")
	}
	to.want, to.geometry.itemsize, to.device = made.want, g.itemsize, made.device
	shape, strides := unsafe.Slice(g.shape, n), unsafe.Slice(g.strides, n)
	toShape, toStrides := unsafe.Slice(to.geometry.shape, len(from)), unsafe.Slice(to.geometry.strides, len(from))
	toDims := unsafe.Slice((*alloc.Dim)(to.geometry.dims), len(from))
	for d, at := range from {
		if at >= 0 {
			toShape[d], toStrides[d], toDims[d] = shape[at], strides[at], dims[at]
			continue
		}
		toShape[d], toStrides[d] = 1, g.itemsize
		if p.names != nil {
			toDims[d] = p.names[-1-at]
		}
	}
	C.gb_plan_finish(to)
	C.free(unsafe.Pointer(made))
	return to, nil
}
