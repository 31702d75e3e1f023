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
	"gridbuf/internal/stop"
)

// ReduceOptions of a reduction from Go.
type ReduceOptions struct {
	Context      context.Context // asked first; ends the reduction within a piece of work; nil: nothing does
	Axes         []int           // that go; nil: all of them
	KeepDims     bool            // leave them in the results with size 1
	Identity     unsafe.Pointer  // an element of the kernel's type that changes nothing; nil: the kernel has none
	Initial      unsafe.Pointer  // an element to begin with; nil: the identity, or the first element
	Where        *Array          // fold only these elements; needs an identity, or Initial
	Sequential   bool            // from left to right
	Workers      int             // at most; 0: as many as transfer.NumThreads says
	IgnoreErrors bool            // do not look for failed results
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
		if err := result.allocate(r.specs[i], q.Outs[i].Type); err != nil {
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
	q := &ReduceRequest{Array: a.Operand, Axes: o.Axes, KeepDims: o.KeepDims, Sequential: o.Sequential, Identity: o.Identity != nil}
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
			copy(unsafe.Slice((*byte)(unsafe.Pointer(to)), int(r.c().item)), unsafe.Slice((*byte)(from), int(r.c().item)))
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
		return alloc.Kind(e.kind).Errorf("%s", C.GoString(&e.message[0]))
	}
	c.job = run
	j := &job{run, r.c().call}
	defer j.drop()
	return j.work(nil, workers)
}

func (r *Reduction) outcome(c *C.gb_gu_reducing) *Outcome {
	o := &Outcome{Elements: int64(r.c().kept_n), Failed: int64(C.gb_gu_reduce_failed(c))}
	if o.Failed > 0 {
		o.Codes = codesOf(c.codes, r.c().kept_n, &r.c().out_shape[0], &r.c().code_strides[0], int(r.c().out_ndim))
	}
	return o
}
