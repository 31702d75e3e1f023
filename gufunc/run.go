package gufunc

// #include <stdlib.h>
// #include "call.h"
import "C"

import (
	"runtime"
	"unsafe"

	"gridbuf/alloc"
)

// Job is one run of a call over memory.
type Job struct {
	job    *C.gb_gu_run
	call   *C.gb_gu_call
	kernel GoKernel // nil: the kernel is C
}

// fanOut is how much work must be left to make it worth waking other threads.
const fanOut = 100_000 // ns

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
	if want := int(c.c.nop) + int(c.c.flags&C.GB_GU_WHERE)/C.GB_GU_WHERE; len(data) != want {
		return nil, setupError("%d addresses for %d operands", len(data), int(want))
	}
	room := (*[C.GB_GU_MAXARGS + 1]unsafe.Pointer)(C.malloc(C.size_t(unsafe.Sizeof([C.GB_GU_MAXARGS + 1]unsafe.Pointer{}))))
	defer C.free(unsafe.Pointer(room))
	copy(room[:], data)
	var e C.gb_error
	ignore := C.int(0)
	if o.IgnoreErrors {
		ignore = 1
	}
	job := C.gb_gu_run_new(c.c, (**C.char)(unsafe.Pointer(room)), o.Uniforms, ignore, &e)
	if job == nil {
		return nil, alloc.Kind(e.kind).Errorf("%s", C.GoString(&e.message[0]))
	}
	return &Job{job, c.c, k.Go}, nil
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
func (j *Job) Drop() { C.gb_gu_run_drop(j.job) }

// glance is how long this thread works before it looks whether others should help.
const glance = 50_000 // ns

func (j *Job) work(workers int) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if j.call.flags&C.GB_GU_ONE_WORKER != 0 {
		workers = 1
	}
	var failure error
	for alone, more := workers > 1, true; more && failure == nil; {
		deadline := int64(0)
		if alone {
			deadline = int64(C.gb_nanoseconds()) + glance
		}
		more, failure = j.take(deadline)
		if left := int64(C.gb_gu_run_left(j.job)); more && alone && left > fanOut {
			j.Help(min(workers-1, int(left/glance)))
			alone = false
		}
	}
	C.gb_gu_run_wait(j.job, 0)
	return failure
}

// Help starts n goroutines that take pieces until none is left.
func (j *Job) Help(n int) {
	for range n {
		C.gb_gu_run_hold(j.job)
		helper := *j
		go func() {
			defer func() {
				if r := recover(); r != nil { // only a fault of our own comes here: kernels have their recover
					C.gb_gu_run_stop(helper.job)
				}
				C.gb_gu_run_drop(helper.job)
			}()
			if helper.kernel == nil {
				C.gb_gu_run_help(helper.job)
				return
			}
			_, _ = helper.take(0)
		}()
	}
}

// JobAt is a job that C started.
func (g *GUFunc) JobAt(job unsafe.Pointer) (*Job, error) {
	j := &Job{job: (*C.gb_gu_run)(job)}
	j.call = j.job.call
	k, err := g.Kernel(int(j.call.kernel))
	j.kernel = k.Go
	return j, err
}

// Work runs pieces on the calling thread until the monotonic clock (nanoseconds)
// passes deadline or a piece has taken long; false when none is left.
func (j *Job) Work(deadline int64) (more bool, err error) { return j.take(deadline) }

// take runs pieces on this thread; without a deadline (0) all that are left.
func (j *Job) take(deadline int64) (more bool, err error) {
	if j.kernel == nil {
		return C.gb_gu_run_work(j.job, C.gb_nanoseconds(), C.int64_t(deadline)) != 0, nil
	}
	var p C.gb_gu_piece
	if C.gb_gu_run_take(j.job, &p) == 0 { // the call may be gone: nothing but the job is touched
		return false, nil
	}
	w, err := newGoWorker(j)
	if err != nil {
		C.gb_gu_run_stop(j.job)
		C.gb_gu_run_finished(j.job, &p, 0)
		return false, err
	}
	defer w.free()
	for began := C.gb_nanoseconds(); ; {
		w.piece(&p)
		now := C.gb_gu_run_finished(j.job, &p, began)
		if deadline != 0 && (int64(now) >= deadline || now-began > C.GB_GU_LONG_SLICE) {
			return true, nil
		}
		if C.gb_gu_run_take(j.job, &p) == 0 {
			return false, nil
		}
		began = now
	}
}
