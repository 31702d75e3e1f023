package gufunc

// #cgo noescape gb_gu_run_new
// #cgo nocallback gb_gu_run_new
// #include "call.h"
import "C"

import (
	"context"
	"runtime"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/message"
	"gridbuf/internal/stop"
	_ "gridbuf/internal/work" // its C: the threads
)

// job is one run of a call over memory.
type job struct {
	run  *C.gb_gu_run
	call *C.gb_gu_call
}

// Options of a run.
type Options struct {
	Context      context.Context // asked first; ends the run between two pieces; nil: nothing does
	Workers      int             // at most; 0: as many as transfer.NumThreads says
	IgnoreErrors bool            // do not look for failed elements
	Uniforms     unsafe.Pointer  // the uniform parameters packed as a C struct, in C memory
}

// start prepares a run, for which memory of Go's stays where it is. Parts of inputs that outputs
// would overwrite are copied now.
func (g *GUFunc) start(c *Call, data []unsafe.Pointer, o Options, pins *runtime.Pinner) (*job,
	error) {
	if fault := c.call.Fault(); fault != "" {
		return nil, setupError("%s: %s", callName, fault)
	}
	call := c.c()
	var want int = int(call.nop)
	if call.flags&C.GB_GU_WHERE != 0 {
		want++
	}
	if len(data) != want {
		return nil, setupError("%d addresses for %d operands", len(data), want)
	}
	if err := g.checkStart(c, data, o); err != nil {
		return nil, err
	}
	for _, p := range data {
		pins.Pin(p)
	}
	var e C.gb_error
	ignore := C.int(0)
	if o.IgnoreErrors {
		ignore = 1
	}
	first := (**C.char)(unsafe.Pointer(unsafe.SliceData(data)))
	run := C.gb_gu_run_new(call, first, o.Uniforms, ignore, &e)
	if run == nil {
		return nil, alloc.Kind(e.kind).Errorf("%s", message.Text(e.message[:]))
	}
	return &job{run, call}, nil
}

// Run runs a call to its end: data has the address of element 0 of every operand, and one more for
// where. When the context ends before, the outputs are undefined.
func (g *GUFunc) Run(c *Call, data []unsafe.Pointer, o Options) (*Outcome, error) {
	if err := g.ready(); err != nil {
		return nil, err
	}
	if err := stop.Asked(o.Context); err != nil {
		return nil, err
	}
	var pins runtime.Pinner
	defer pins.Unpin()
	j, err := g.start(c, data, o, &pins)
	if err != nil {
		return nil, err
	}
	defer j.drop()
	err = j.work(o.Context, o.Workers)
	runtime.KeepAlive(g) // and its kernels
	if err != nil {
		return nil, err
	}
	return j.outcome()
}

func (j *job) drop() { C.gb_gu_run_drop(j.run) }

// work runs the job from this thread, with helpers once it has shown that they are worth their
// start.
func (j *job) work(ctx context.Context, workers int) error {
	workers = max(workers, 0) // 0: C asks for the number where the run is long
	if ctx == nil || ctx.Done() == nil {
		C.gb_gu_run_all(j.run, C.int(workers))
		return nil
	}
	C.gb_gu_run_hold(j.run) // the context stops it from another thread
	defer j.drop()
	ended := stop.When(ctx, func() { C.gb_gu_run_stop(j.run) })
	C.gb_gu_run_all(j.run, C.int(workers))
	return ended()
}

// Outcome says how a run went.
type Outcome struct {
	Elements int64   // without those that where leaves out
	Failed   int64   // how many of them failed
	Codes    []uint8 // one per element of the outer shape in C order; nil when nothing failed
}

// AllGood reports that no element failed, also where there were none.
func (o *Outcome) AllGood() bool { return o == nil || o.Failed == 0 }

// SomeFailed reports that elements failed, and others did not.
func (o *Outcome) SomeFailed() bool { return !o.AllGood() && o.Failed < o.Elements }

// AllFailed reports that there were elements, and all of them failed.
func (o *Outcome) AllFailed() bool { return !o.AllGood() && o.Failed == o.Elements }

// outcome of a job that is done.
func (j *job) outcome() (*Outcome, error) {
	if j.run.no_memory != 0 {
		return nil, alloc.ErrNoMemory.Errorf("no memory left for the scratch space of a worker")
	}
	o := &Outcome{Elements: int64(j.run.nselected), Failed: int64(j.run.nfailed)}
	if o.Failed == 0 {
		return o, nil
	}
	c := j.call
	o.Codes = codesOf(j.run.codes, c.n, &c.outer_shape[0], &c.code_strides[0], int(c.outer_ndim))
	return o, nil
}

// codesOf brings n codes, which lie in the order of the loops, into C order.
func codesOf(codes *C.uint8_t, n C.int64_t, shape, steps *C.int64_t, ndim int) []uint8 {
	all := make([]uint8, 0, int(n))
	gatherCodes(&all, unsafe.Slice((*uint8)(codes), int(n)), unsafe.Slice((*int64)(shape), ndim),
		unsafe.Slice((*int64)(steps), ndim), 0)
	return all
}

func gatherCodes(to *[]uint8, codes []uint8, shape, steps []int64, at int64) {
	if len(shape) == 0 {
		*to = append(*to, codes[at])
		return
	}
	for i := range shape[0] {
		gatherCodes(to, codes, shape[1:], steps[1:], at+i*steps[0])
	}
}
