package gufunc

// #include <stdlib.h>
// #include "call.h"
import "C"

import (
	"slices"
	"unsafe"

	"gridbuf/alloc"
)

// arrange turns the operands so that their core dimensions are the last ones, and says where those
// of new outputs go.
func (g *GUFunc) arrange(r *Request) ([]coreAxes, error) {
	cores, s := make([]coreAxes, len(r.Operands)), g.Signature
	if r.Axes == nil && r.Axis == nil && r.AxisName == nil && !r.KeepDims ||
		len(r.Operands) != len(s.Operands) {
		return cores, nil
	}
	r.Operands = slices.Clone(r.Operands)
	entries, err := g.entries(r)
	if err != nil {
		return nil, err
	}
	for i, e := range entries[:s.Inputs] {
		if len(e) != len(s.Operands[i].Dims) {
			return nil, setupError("axes: entry %d has %d axes, the operand's core has %d", i,
				len(e), len(s.Operands[i].Dims))
		}
		if err := s.turn(r, i, e); err != nil {
			return nil, err
		}
	}
	for i := s.Inputs; i < len(entries); i++ {
		e, o := entries[i], &r.Operands[i]
		want, whose := s.Operands[i].Dims, "its core"
		if r.KeepDims {
			want, whose = s.Operands[0].Dims, "an input's core, which keepdims keeps"
		}
		if len(e) != len(want) {
			return nil, setupError("axes: an output's entry has %d axes, expected %d: those of %s",
				len(e), len(want), whose)
		}
		if o.Absent {
			cores[i] = coreAxes{axes: e, keep: r.KeepDims, named: r.AxisName != nil}
			if first := r.Operands[0]; r.KeepDims && first.Dims != nil {
				cores[i].names = first.Dims[len(first.Dims)-len(e):]
			}
			continue
		}
		if err := s.turn(r, i, e); err != nil {
			return nil, err
		}
		if r.KeepDims {
			if err := s.withoutKept(r, i, len(e)); err != nil {
				return nil, err
			}
		}
	}
	r.dropNames(s)
	return cores, nil
}

// turnShapes brings the core dimensions of every operand's shape to its end, in place.
func (g *GUFunc) turnShapes(r *Request) error {
	if err := g.checkRequest(r); err != nil {
		return err
	}
	given := r.Operands
	if _, err := g.arrange(r); err != nil {
		return err
	}
	for i := range given {
		copy(given[i].Shape, r.Operands[i].Shape)
	}
	return nil
}

// entries are the axes of each operand's core.
func (g *GUFunc) entries(r *Request) ([][]int64, error) {
	s := g.Signature
	if r.KeepDims && !s.keeps() {
		return nil, setupError("keepdims: %s needs inputs with the same number of core "+
			"dimensions and outputs with none", s)
	}
	if r.Axes != nil {
		return s.listed(r)
	}
	if (r.Axis != nil || r.AxisName != nil) && !s.shares() {
		return nil, setupError("axis: %s needs one core dimension that its operands share; use "+
			"axes", s)
	}
	entries := make([][]int64, len(s.Operands))
	for i := range entries {
		n := len(s.Operands[i].Dims)
		if r.KeepDims && i >= s.Inputs {
			n = len(s.Operands[0].Dims)
		}
		entries[i] = make([]int64, n)
		for d := range n {
			entries[i][d] = int64(d - n)
		}
		switch o := &r.Operands[i]; {
		case n == 0:
		case r.Axis != nil:
			entries[i][0] = *r.Axis
		case r.AxisName != nil && !o.Absent:
			at := slices.Index(o.Dims, *r.AxisName)
			if o.Dims == nil {
				return nil, setupError("axis: %s is a name, and %s has none", *r.AxisName,
					s.operandName(i))
			}
			if at < 0 {
				return nil, setupError("axis: %s has no dimension %s", s.operandName(i),
					*r.AxisName)
			}
			entries[i][0] = int64(at)
		}
	}
	return entries, nil
}

// keeps says whether core dimensions of inputs can stay in the outputs with size 1.
func (s *Signature) keeps() bool {
	if s.Inputs == 0 {
		return false
	}
	n := len(s.Operands[0].Dims)
	for i, o := range s.Operands {
		if i < s.Inputs && len(o.Dims) != n || i >= s.Inputs && len(o.Dims) != 0 {
			return false
		}
	}
	return n > 0
}

// shares says whether there is one core dimension, which every operand that has any has.
func (s *Signature) shares() bool {
	shared := -1
	for _, o := range s.Operands {
		if len(o.Dims) == 0 {
			continue
		}
		if len(o.Dims) > 1 || shared >= 0 && o.Dims[0].Dim != shared {
			return false
		}
		shared = o.Dims[0].Dim
	}
	return shared >= 0
}

// listed are the entries that the caller gave; those of outputs without a core may be left out.
func (s *Signature) listed(r *Request) ([][]int64, error) {
	entries, short := slices.Clone(r.Axes), len(r.Axes) == s.Inputs
	for _, o := range s.Operands[s.Inputs:] {
		short = short && len(o.Dims) == 0
	}
	if !short && len(entries) != len(s.Operands) {
		return nil, setupError("axes: %d entries for %d operands", len(entries), len(s.Operands))
	}
	entries = append(entries, make([][]int64, len(s.Operands)-len(entries))...)
	for i := len(r.Axes); r.KeepDims && i < len(entries); i++ {
		entries[i] = entries[0]
	}
	return entries, nil
}

// turn makes these axes of an operand its last ones.
func (s *Signature) turn(r *Request, i int, entry []int64) error {
	o := &r.Operands[i]
	ndim := int64(len(o.Shape))
	order := make([]int, 0, ndim)
	var last []int
	for _, axis := range entry {
		if axis < -ndim || axis >= ndim {
			return setupError("axis: %d is out of range for %s, which has %d dimensions", axis,
				s.operandName(i), ndim)
		}
		at := int((axis + ndim) % ndim)
		if slices.Contains(last, at) {
			return setupError("axes: %s names an axis twice", s.operandName(i))
		}
		last = append(last, at)
	}
	for d := range o.Shape {
		if !slices.Contains(last, d) {
			order = append(order, d)
		}
	}
	order = append(order, last...)
	o.Shape, o.Strides = permuted(o.Shape, order), permuted(o.Strides, order)
	if o.Dims != nil {
		o.Dims = permuted(o.Dims, order)
	}
	return nil
}

func permuted[T any](list []T, order []int) []T {
	made := make([]T, len(order))
	for to, from := range order {
		made[to] = list[from]
	}
	return made
}

// withoutKept leaves out the last axes of a given output, which have size 1.
func (s *Signature) withoutKept(r *Request, i, kept int) error {
	o := &r.Operands[i]
	n := len(o.Shape) - kept
	if slices.ContainsFunc(o.Shape[n:], func(size int64) bool { return size != 1 }) {
		return setupError("%s: keepdims needs the kept axes to have size 1", s.operandName(i))
	}
	o.Shape, o.Strides = o.Shape[:n], o.Strides[:n]
	if o.Dims != nil {
		o.Dims = o.Dims[:n]
	}
	return nil
}

// dropNames makes it a call without names unless every input has them or needs none.
func (r *Request) dropNames(s *Signature) {
	if !slices.ContainsFunc(r.Operands[:s.Inputs], func(o Operand) bool {
		return o.Dims == nil &&
			len(o.Shape) > 0
	}) {
		return
	}
	for i := range r.Operands {
		r.Operands[i].Dims = nil
	}
	if r.Where != nil {
		where := *r.Where
		where.Dims, r.Where = nil, &where
	}
}

// coreAxes says where the core of a new output goes: axes of the output, from the end where they
// are negative.
type coreAxes struct {
	axes  []int64
	keep  bool        // as axes of size 1, which the memory lacks
	names []alloc.Dim // of kept axes
	// by name: where it belongs in the order I, J, K, 0, 1, ... of the outer dimensions
	named bool
}

// from says for each axis of the output which one of its memory it is: -1-k stands for the kept
// axis k. dims are the memory's.
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
			return nil, setupError("axes: %d does not fit an output with %d dimensions", axis,
				total)
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
	// an optional dimension is missing: nothing moves
	if len(p.axes) == 0 || !p.keep && n-outer != len(p.axes) {
		return made, nil
	}
	dims := unsafe.Slice((*alloc.Dim)(g.dims), n)
	from, err := p.from(dims)
	if err == nil && len(from) > alloc.MaxDims {
		err = setupError("keepdims: the output would have %d dimensions; at most %d are allowed",
			len(from), int(alloc.MaxDims))
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
	toShape, toStrides := unsafe.Slice(to.geometry.shape,
		len(from)), unsafe.Slice(to.geometry.strides, len(from))
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
