package gufunc

// #include <stdlib.h>
// #include "reduction.h"
import "C"

import (
	"context"
	"runtime"
	"slices"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/handle"
	"gridbuf/internal/message"
	"gridbuf/internal/stop"
)

// ReduceRequest is a reduction without memory.
type ReduceRequest struct {
	Kernel int       // number of the kernel
	State  bool      // a kernel with a state
	Array  Operand   // the input
	Where  *Operand  // a mask of bools that broadcasts to it; nil: every element
	Outs   []Operand // the results; Absent ones are allocated
	// reduced axes, each in [0, ndim) and once; a sequential fold takes them in this order
	Axes       []int
	KeepDims   bool // leave them in the results with size 1
	Sequential bool // fold from left to right: the order counts
	OneByOne   bool // also where the loop could take a row at once
	Identity   bool // a run brings the kernel's identity
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
	from, to   alloc.Type
	results    []alloc.Type // in the kernel's types
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
			return setupError("%s: only two inputs and one output without core dimensions "+
				"reduce, or a StateKernel; this is %s", p.g.Name, s)
		}
		if t[0] != t[1] || t[0] != t[2] || p.kernel.Form == GoLoop {
			return setupError("%s: reducing needs a C kernel with one type for its operands, "+
				"this is %s", p.g.Name, typesText(t, 2))
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
			p.kept = append(p.kept, loop{n: n, in: q.Array.Strides[a], where: p.mask[a],
				axes: []int{len(p.shape)}})
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
				return setupError("where: its index %s is none of the operand's %v", m.Dims[i],
					message.List(a.Dims))
			}
		}
		if at < 0 || n != 1 && n != a.Shape[at] {
			return setupError("where: its shape %v does not broadcast to the array's %v", m.Shape,
				a.Shape)
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
	spec := &alloc.Spec{Shape: p.shape, ItemSize: o.Type.Size(),
		Layout: make([]int32, len(p.shape)), Dims: p.dims}
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
				return setupError("out: its dims are %v, the result has %v", message.List(o.Dims),
					message.List(p.dims))
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

// ReduceOptions of a reduction from Go.
type ReduceOptions struct {
	// asked first; ends the reduction within a piece of work; nil: nothing does
	Context  context.Context
	Axes     []int // reduced axes; nil: all of them
	KeepDims bool  // leave them in the results with size 1
	// an element of the kernel's type that changes nothing; nil: the kernel has none
	Identity unsafe.Pointer
	// an element to begin with; nil: the identity, or the first element
	Initial      unsafe.Pointer
	Where        *Array // fold only these elements; needs an identity, or Initial
	Sequential   bool   // from left to right
	Workers      int    // at most; 0: as many as transfer.NumThreads says
	IgnoreErrors bool   // do not look for failed results
}

// Reduce folds an array with the kernel for its type, or with its reduction with a state. The
// results are allocated; Free of the result gives them back. They do not depend on the number
// of workers.
func (g *GUFunc) Reduce(a Array, o ReduceOptions) (*Result, error) {
	if err := stop.Asked(o.Context); err != nil {
		return nil, err
	}
	if err := g.checkReduce(&a, &o); err != nil {
		return nil, err
	}
	q, err := g.reduceRequest(a, o)
	if err != nil {
		return nil, err
	}
	r, err := g.PlanReduction(q)
	if err != nil {
		return nil, err
	}
	defer r.Free()
	if err := checkStart(r, q, o); err != nil {
		return nil, err
	}
	result := &Result{}
	for i := range q.Outs {
		p, err := alloc.NewPlan(r.specs[i])
		if err == nil {
			err = result.allocate(p, q.Outs[i].Type)
		}
		if err != nil {
			result.Free()
			return nil, err
		}
	}
	if result.Outcome, err = r.run(a, o, result.Outputs); err != nil {
		result.Free()
		return nil, err
	}
	return result, nil
}

func (g *GUFunc) reduceRequest(a Array, o ReduceOptions) (*ReduceRequest, error) {
	q := &ReduceRequest{Array: a.Operand, Axes: o.Axes, KeepDims: o.KeepDims,
		Sequential: o.Sequential, Identity: o.Identity != nil}
	if o.Axes == nil {
		for d := range a.Shape {
			q.Axes = append(q.Axes, d)
		}
	}
	for i, d := range q.Axes {
		if d < 0 || d >= len(a.Shape) || slices.Contains(q.Axes[:i], d) {
			return nil, setupError("axes: %v does not fit %d dimensions", q.Axes, len(a.Shape))
		}
	}
	if o.Where != nil {
		q.Where = &o.Where.Operand
	}
	outs := g.Signature.Outputs()
	q.Outs = slices.Repeat([]Operand{{Absent: true}}, outs)
	for n := 0; ; n++ {
		s, err := g.State(n)
		if err != nil {
			break
		}
		if CanCast(a.Type, s.Types[0]) {
			q.Kernel, q.State = n, true
			return q, nil
		}
	}
	var err error
	q.Kernel, err = g.SelectKernel(slices.Repeat([]TypeArg{{Type: a.Type}}, g.Signature.Inputs))
	return q, err
}

func checkStart(r *Reduction, q *ReduceRequest, o ReduceOptions) error {
	switch {
	case q.State || o.Identity != nil || o.Initial != nil:
	case o.Where != nil:
		return setupError("where: the reduction has no identity; give Initial as well")
	case r.c().fold_n == 0:
		return setupError("array: nothing to reduce, and there is no identity; give Initial")
	}
	return nil
}

// run does the work of a reduction and says how it went.
func (r *Reduction) run(a Array, o ReduceOptions, outs []Array) (*Outcome, error) {
	c := (*C.gb_gu_reducing)(C.aligned_alloc(64, (C.sizeof_gb_gu_reducing+63)&^63))
	if c == nil {
		return nil, alloc.ErrNoMemory.Errorf("no memory left for a reduction")
	}
	defer C.free(unsafe.Pointer(c))
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(a.Data)
	*c = C.gb_gu_reducing{r: r.c(), in: (*C.char)(unsafe.Add(a.Data, int(r.c().in_offset)))}
	if o.Where != nil {
		pins.Pin(o.Where.Data)
		c.where = (*C.char)(unsafe.Add(o.Where.Data, int(r.c().where_offset)))
	}
	for i, out := range outs {
		c.out[i] = (*C.char)(out.Data)
	}
	if o.IgnoreErrors {
		c.ignore_errors = 1
	}
	element := func(to *[C.GB_GU_MAX_ITEM]C.char, from unsafe.Pointer) {
		if from != nil {
			copy(unsafe.Slice((*byte)(unsafe.Pointer(to)), int(r.c().item)),
				unsafe.Slice((*byte)(from), int(r.c().item)))
		}
	}
	element(&c.identity, o.Identity)
	element(&c.start, o.Identity)
	element(&c.start, o.Initial)
	if o.Identity != nil || o.Initial != nil {
		c.has_start = 1
	}
	noMemory := alloc.ErrNoMemory.Errorf("no memory left for the scratch space of a reduction")
	if C.gb_gu_reduce_begin(c) < 0 {
		return nil, noMemory
	}
	defer func() { C.free(unsafe.Pointer(c.codes)) }()
	ended := stop.When(o.Context, func() { C.gb_gu_reduce_stop(c) })
	err := r.share(c, o.Workers)
	if cancelled := ended(); err == nil {
		err = cancelled
	}
	if err != nil {
		c.stopped = 1
	}
	C.gb_gu_reduce_end(c)
	if err != nil {
		return nil, err
	}
	if c.no_memory != 0 {
		return nil, noMemory
	}
	return r.outcome(c), nil
}

// share runs the tasks, on several threads where there are several.
func (r *Reduction) share(c *C.gb_gu_reducing, workers int) error {
	if r.Tasks() <= 1 {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if r.Tasks() == 1 {
			C.gb_gu_reduce_here(c)
		}
		return nil
	}
	counter := (*[2]*C.char)(C.calloc(2, C.size_t(unsafe.Sizeof(uintptr(0)))))
	if counter == nil {
		return alloc.ErrNoMemory.Errorf("no memory left for a reduction")
	}
	defer C.free(unsafe.Pointer(counter))
	var e C.gb_error
	run := C.gb_gu_run_new(r.c().call, &counter[0], unsafe.Pointer(c), 1, &e)
	if run == nil {
		return alloc.Kind(e.kind).Errorf("%s", message.Text(e.message[:]))
	}
	c.job = run
	j := &job{run, r.c().call}
	defer j.drop()
	return j.work(context.Background(), workers)
}

func (r *Reduction) outcome(c *C.gb_gu_reducing) *Outcome {
	o := &Outcome{Elements: int64(r.c().kept_n), Failed: int64(C.gb_gu_reduce_failed(c))}
	if o.Failed > 0 {
		o.Codes = codesOf(c.codes, r.c().kept_n, &r.c().out_shape[0], &r.c().code_strides[0],
			int(r.c().out_ndim))
	}
	return o
}
