package gufunc

// #include <stdlib.h>
// #include "reduction.h"
import "C"

import (
	"slices"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/handle"
	"gridbuf/internal/message"
)

// ReduceRequest is a reduction without memory.
type ReduceRequest struct {
	Kernel     int       // number of the kernel
	State      bool      // it is one of the kernels with a state
	Array      Operand   // what is folded
	Where      *Operand  // a mask of bools that broadcasts to it; nil: every element
	Outs       []Operand // the results; Absent ones are allocated
	Axes       []int     // that go, each in [0, ndim) and once; a sequential fold takes them in this order
	KeepDims   bool      // leave them in the results with size 1
	Sequential bool      // fold from left to right: the order counts
	OneByOne   bool      // also where the loop could take a row at once
	Identity   bool      // a run brings the kernel's identity
}

// Reduction is a planned reduction, in C memory; nothing in it depends on addresses.
type Reduction struct {
	reduction handle.Handle
	specs     []*alloc.Spec
}

const reductionName = "gufunc.Reduction"

func (r *Reduction) c() *C.gb_gu_reduction {
	return (*C.gb_gu_reduction)(r.reduction.Address(reductionName))
}

// Free gives the record back. A second Free does nothing.
func (r *Reduction) Free() {
	C.gb_gu_reduction_free((*C.gb_gu_reduction)(r.reduction.Take(reductionName)))
}

// Tasks is how many pieces of work it is cut into.
func (r *Reduction) Tasks() int64 {
	c := r.c()
	return int64(c.tiles * c.blocks)
}

// Shape is the shape of the results.
func (r *Reduction) Shape() []int64 {
	c := r.c()
	return slices.Clone(unsafe.Slice((*int64)(&c.out_shape[0]), int(c.out_ndim)))
}

// loop is a loop of a reduction, and the steps of what moves along it.
type loop struct {
	n, in, where int64
	outs         []int64
	axes         []int // of the results that became this loop; none: it is folded
}

// reducePlanner works a reduction out.
type reducePlanner struct {
	g          *GUFunc
	q          *ReduceRequest
	kernel     Kernel
	state      StateKernel
	from, to   Type
	results    []Type // in the kernel's types
	mask       []int64
	shape      []int64 // of the results
	dims       []alloc.Dim
	kept, fold []loop
	specs      []*alloc.Spec
	c          *C.gb_gu_reduction
}

// PlanReduction works a reduction out: loops in the order of memory, scratch, tasks, and the
// memory of its results.
func (g *GUFunc) PlanReduction(q *ReduceRequest) (*Reduction, error) {
	if err := g.checkReduceRequest(q); err != nil {
		return nil, err
	}
	p := &reducePlanner{g: g, q: q, specs: make([]*alloc.Spec, len(q.Outs))}
	if err := p.choose(); err != nil {
		return nil, err
	}
	p.c = C.gb_gu_reduction_new(C.int(len(q.Outs)))
	call := C.gb_gu_call_new(1)
	if p.c == nil || call == nil {
		C.gb_gu_reduction_free(p.c)
		C.gb_gu_call_free(call)
		return nil, alloc.ErrNoMemory.Errorf("no memory left for a reduction")
	}
	p.c.call = call
	err := p.locate()
	if err == nil {
		err = p.compile()
	}
	if err != nil {
		C.gb_gu_reduction_free(p.c)
		return nil, err
	}
	r := &Reduction{specs: p.specs}
	r.reduction.Hold(unsafe.Pointer(p.c))
	return r, nil
}

// choose finds the kernel and checks that it folds.
func (p *reducePlanner) choose() error {
	var err error
	q, s := p.q, p.g.Signature
	if q.State {
		if p.state, err = p.g.State(q.Kernel); err != nil {
			return err
		}
		p.to, p.results = p.state.Types[0], p.state.Types[1:]
	} else {
		if p.kernel, err = p.g.Kernel(q.Kernel); err != nil {
			return err
		}
		t := p.kernel.Types
		if s.Inputs != 2 || s.Outputs() != 1 || !s.Scalar() || len(s.Uniforms) > 0 {
			return setupError("%s: only two inputs and one output without core dimensions reduce, or a StateKernel; this is %s", p.g.Name, s)
		}
		if t[0] != t[1] || t[0] != t[2] || p.kernel.Form == GoLoop {
			return setupError("%s: reducing needs a C kernel with one type for its operands, this is %s", p.g.Name, typesText(t, 2))
		}
		p.to, p.results = t[0], t[2:]
	}
	p.from = q.Array.Type
	if len(q.Outs) != len(p.results) {
		return setupError("out: %d arrays for %d results", len(q.Outs), len(p.results))
	}
	return nil
}

// locate finds out where everything lies: what is kept, what is folded, and the results.
func (p *reducePlanner) locate() error {
	q := p.q
	if err := p.align(); err != nil {
		return err
	}
	for _, a := range q.Axes {
		p.fold = append(p.fold, loop{n: q.Array.Shape[a], in: q.Array.Strides[a], where: p.mask[a]})
	}
	like := []int64{}
	for a, n := range q.Array.Shape {
		goes := slices.Contains(q.Axes, a)
		if goes && !q.KeepDims {
			continue
		}
		if goes {
			n = 1
		} else {
			p.kept = append(p.kept, loop{n: n, in: q.Array.Strides[a], where: p.mask[a], axes: []int{len(p.shape)}})
		}
		p.shape = append(p.shape, n)
		like = append(like, q.Array.Strides[a])
		if q.Array.Dims != nil {
			p.dims = append(p.dims, q.Array.Dims[a])
		}
	}
	for i := range q.Outs {
		if q.Outs[i].Absent {
			p.output(i, like)
		}
		if err := p.outSteps(i); err != nil {
			return err
		}
	}
	return nil
}

// align broadcasts the mask to the array: by name when both have names.
func (p *reducePlanner) align() error {
	a, m := p.q.Array, p.q.Where
	p.mask = make([]int64, len(a.Shape))
	if m == nil {
		return nil
	}
	for i, n := range m.Shape {
		at := len(a.Shape) - len(m.Shape) + i
		if m.Dims != nil && a.Dims != nil {
			if at = slices.Index(a.Dims, m.Dims[i]); at < 0 {
				return setupError("where: its index %s is none of the operand's %v", m.Dims[i], message.List(a.Dims))
			}
		}
		if at < 0 || n != 1 && n != a.Shape[at] {
			return setupError("where: its shape %v does not broadcast to the array's %v", m.Shape, a.Shape)
		}
		if n != 1 {
			p.mask[at] = m.Strides[i]
		}
	}
	return nil
}

// output asks for memory for a result, laid out as what is left of the array.
func (p *reducePlanner) output(i int, like []int64) {
	o := &p.q.Outs[i]
	o.Type, o.Shape = p.results[i], p.shape
	spec := &alloc.Spec{Shape: p.shape, ItemSize: o.Type.Size(), Layout: make([]int32, len(p.shape)), Dims: p.dims}
	for rank, d := range bySlowness(like) {
		spec.Layout[d] = int32(rank)
	}
	p.specs[i] = spec
}

// outSteps gives the kept loops the steps of a result: by name when both sides have names.
func (p *reducePlanner) outSteps(i int) error {
	o := &p.q.Outs[i]
	if o.Absent && len(p.shape) > 0 {
		made, err := planned(p.specs[i])
		if err != nil {
			return err
		}
		p.c.plan[i] = made
		o.Strides = slices.Clone(unsafe.Slice((*int64)(made.geometry.strides), len(p.shape)))
	}
	order := make([]int, len(p.shape))
	for d := range order {
		order[d] = d
		if !o.Absent && o.Dims != nil && p.dims != nil && len(o.Dims) == len(p.dims) {
			if order[d] = slices.Index(o.Dims, p.dims[d]); order[d] < 0 {
				return setupError("out: its dims are %v, the result has %v", message.List(o.Dims), message.List(p.dims))
			}
		}
	}
	if len(o.Shape) != len(p.shape) {
		return alloc.ErrInvalid.Errorf("%s", wrongShape(o.Shape, p.shape))
	}
	for d, n := range p.shape {
		if o.Shape[order[d]] != n {
			return alloc.ErrInvalid.Errorf("%s", wrongShape(o.Shape, p.shape))
		}
	}
	for k := range p.kept {
		p.kept[k].outs = append(p.kept[k].outs, o.Strides[order[p.kept[k].axes[0]]])
	}
	return nil
}
