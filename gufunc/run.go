package gufunc

// #include <stdlib.h>
// #include "call.h"
import "C"

import (
	"runtime"
	"time"
	"unsafe"

	"gridbuf/alloc"
)

// Job is one run of a call over memory.
type Job struct {
	job    *C.gb_sweep
	call   *C.gb_call
	kernel GoKernel // nil: the kernel is C
}

// fanOut is how much work must be left to make it worth waking other threads.
const fanOut = 100 * time.Microsecond

// Options of a run.
type Options struct {
	Workers      int            // at most; 0: one per core
	IgnoreErrors bool           // do not look for failed elements
	Uniforms     unsafe.Pointer // the uniform parameters packed as a C struct, in C memory
}

// Start prepares a run: data has the address of element 0 of every operand (in C
// memory), and one more for where. Parts of inputs that outputs would overwrite are
// copied now.
func (g *GUFunc) Start(c *Call, data []unsafe.Pointer, o Options) (*Job, error) {
	k, err := g.Kernel(int(c.c.kernel))
	if err != nil {
		return nil, err
	}
	if want := int(c.c.nop) + int(c.c.flags&C.GB_WHERE)/C.GB_WHERE; len(data) != want {
		return nil, setupError("%d addresses for %d operands", len(data), want)
	}
	room := (*[C.GB_MAXARGS + 1]unsafe.Pointer)(C.malloc(C.size_t(unsafe.Sizeof([C.GB_MAXARGS + 1]unsafe.Pointer{}))))
	defer C.free(unsafe.Pointer(room))
	copy(room[:], data)
	var why *C.char
	ignore := C.int(0)
	if o.IgnoreErrors {
		ignore = 1
	}
	job := C.gb_sweep_new(c.c, (**C.char)(unsafe.Pointer(room)), o.Uniforms, ignore, &why)
	if job == nil {
		return nil, OverlapError(C.GoString(why))
	}
	return &Job{job, c.c, k.Go}, nil
}

// OverlapError turns the reason why a job cannot start into an error.
func OverlapError(why string) error {
	switch why {
	case "memory":
		return &alloc.Error{Kind: alloc.MemoryError, Message: "no memory left to copy the inputs that the outputs overlap"}
	case "outputs":
		return &alloc.Error{Kind: alloc.ValueError, Message: "out: two outputs share memory; give each its own"}
	}
	return &alloc.Error{Kind: alloc.ValueError, Message: "out: elements of an output share memory (a zero or sliding stride); give one with memory of its own for each"}
}

// Run starts a job and works until it is done.
func (g *GUFunc) Run(c *Call, data []unsafe.Pointer, o Options) (*Outcome, error) {
	j, err := g.Start(c, data, o)
	if err != nil {
		return nil, err
	}
	defer j.Drop()
	if err := j.work(o.Workers); err != nil {
		return nil, err
	}
	return j.Outcome()
}

// Drop gives the job back; its outcome stays valid.
func (j *Job) Drop() { C.gb_sweep_drop(j.job) }

func (j *Job) work(workers int) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if j.call.flags&C.GB_ONE_WORKER != 0 {
		workers = 1
	}
	if workers > 1 && j.call.nchunks > 1 {
		begin := time.Now()
		if more, err := j.take(1); err != nil || !more {
			return err
		}
		if left := time.Since(begin) * time.Duration(j.call.nchunks-1); left > fanOut {
			j.Help(int(min(int64(workers-1), int64(j.call.nchunks)-1)))
		}
	}
	if _, err := j.take(1 << 62); err != nil {
		return err
	}
	C.gb_sweep_wait(j.job, 0)
	return nil
}

// Help starts n goroutines that take chunks until none is left.
func (j *Job) Help(n int) {
	for range n {
		C.gb_sweep_hold(j.job)
		helper := *j
		go func() {
			defer func() {
				if r := recover(); r != nil { // only a fault of our own comes here: kernels have their recover
					C.gb_sweep_stop(helper.job)
				}
				C.gb_sweep_drop(helper.job)
			}()
			_, _ = helper.take(1 << 62)
		}()
	}
}

// JobAt is a job that C started.
func (g *GUFunc) JobAt(job unsafe.Pointer) (*Job, error) {
	j := &Job{job: (*C.gb_sweep)(job)}
	j.call = j.job.call
	k, err := g.Kernel(int(j.call.kernel))
	j.kernel = k.Go
	return j, err
}

// Work runs chunks on the calling thread until the monotonic clock (nanoseconds)
// passes deadline; false when no chunk is left.
func (j *Job) Work(deadline int64) (more bool, err error) {
	for more = true; more && err == nil && int64(C.gb_now()) < deadline; {
		more, err = j.take(1)
	}
	return more, err
}

// take runs chunks on this thread.
func (j *Job) take(limit int64) (more bool, err error) {
	if j.kernel == nil {
		return C.gb_sweep_work(j.job, C.int64_t(limit), 0) != 0, nil
	}
	chunk := int64(C.gb_sweep_take(j.job))
	if chunk < 0 { // the call may be gone: nothing but the job is touched
		return false, nil
	}
	w, err := newGoWorker(j)
	if err != nil {
		C.gb_sweep_stop(j.job)
		C.gb_sweep_finished(j.job)
		return false, err
	}
	defer w.free()
	for ; chunk >= 0; chunk = int64(C.gb_sweep_take(j.job)) {
		w.chunk(chunk)
		C.gb_sweep_finished(j.job)
		if limit--; limit == 0 {
			return true, nil
		}
	}
	return false, nil
}
