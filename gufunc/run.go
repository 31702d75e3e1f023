package gufunc

// #include "call.h"
import "C"

import (
	"context"
	"runtime"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/stop"
	"gridbuf/internal/work"
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

// start prepares a run, for which memory of Go's stays where it is. Parts of inputs that outputs would
// overwrite are copied now.
func (g *GUFunc) start(c *Call, data []unsafe.Pointer, o Options, pins *runtime.Pinner) (*job, error) {
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
	var room [C.GB_GU_MAXARGS + 1]*C.char
	for i, p := range data {
		room[i] = (*C.char)(p)
		pins.Pin(p)
	}
	var e C.gb_error
	ignore := C.int(0)
	if o.IgnoreErrors {
		ignore = 1
	}
	run := C.gb_gu_run_new(call, &room[0], o.Uniforms, ignore, &e)
	if run == nil {
		return nil, alloc.Kind(e.kind).Errorf("%s", C.GoString(&e.message[0]))
	}
	return &job{run, call}, nil
}

// Run runs a call to its end: data has the address of element 0 of every operand, and one more for where. When the context ends before, the outputs are undefined.
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

// work runs the job from this thread, with helpers once it has shown that they are worth their start.
func (j *job) work(ctx context.Context, workers int) error {
	if workers <= 0 {
		workers = work.Threads()
	}
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
