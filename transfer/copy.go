package transfer

// #include <stdlib.h>
// #include "transfer.h"
import "C"

import (
	"context"
	"runtime"
	"time"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/stop"
	"gridbuf/internal/work"
)

// Slice is the time between two questions of a copy to its context.
const Slice = 50 * time.Millisecond

// Options of a copy or fill; the zero value is right for most.
type Options struct {
	// asked first and after every Slice, ends the work; nil: nothing does
	Context  context.Context
	Progress func(done float64) // called after every Slice, and at the end with 1; nil: not
}

// Copy copies the values of src into dst, which has the same shape. See the package
// comment for conversions and overlap.
func Copy(dst, src alloc.View, opts Options) error {
	var pins runtime.Pinner // memory of Go's stays in place, C's is not touched
	defer pins.Unpin()
	pins.Pin(dst.Data)
	pins.Pin(src.Data)
	return opts.finish(func() (*Job, error) { return PlanCopy(dst, src) })
}

// Fill sets every element of dst to value; see [PlanFill].
func Fill(dst alloc.View, value any, opts Options) error {
	var pins runtime.Pinner
	defer pins.Unpin()
	pins.Pin(dst.Data)
	return opts.finish(func() (*Job, error) { return PlanFill(dst, value) })
}

// finish runs a job to its end.
func (o *Options) finish(plan func() (*Job, error)) error {
	if err := stop.Asked(o.Context); err != nil {
		return err
	}
	job, err := plan()
	if err != nil {
		return err
	}
	defer job.Free()
	for {
		done, err := job.Run(time.Duration(work.Slice))
		if err != nil {
			return err
		}
		if o.Progress != nil {
			o.Progress(job.Progress())
		}
		if done {
			return nil
		}
		if err := stop.Asked(o.Context); err != nil {
			return err
		}
	}
}

// MaxDims is how many dimensions a View may have.
const MaxDims = alloc.MaxViewDims

var _ = [1]struct{}{}[MaxDims-C.GB_COPY_DIMS] // C has room for as many

// typeOf is an element's type as the kernels know it: those that no conversion knows are moved.
func typeOf(t alloc.Type) C.int32_t {
	if C.gb_copy_converts(C.int(t)) == 0 {
		return C.GB_RAW
	}
	return C.int32_t(t)
}

// kernels names the instruction set in use: "plain", "sse2", "neon", "avx2" or "avx512".
func kernels() string { return C.GoString(C.gb_copy_kernels_name()) }

// useKernels chooses another; for tests, while nothing is being copied.
func useKernels(name string) error {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	if C.gb_copy_kernels_use(text) < 0 {
		return alloc.ErrInvalid.Errorf("name: this processor has no kernels named %q", name)
	}
	return nil
}

// assumeCache says how large the last cache is, so that small copies stream, too; 0 asks the
// system again. For tests.
func assumeCache(bytes int64) { C.gb_copy_assume_cache(C.int64_t(bytes)) }

// tiles and runTiles let tests run the tiles of a plan in any order.
func (j *Job) tiles() int64 { return int64(j.copy().job[0].tiles) }

func (j *Job) runTiles(first, end int64) {
	C.gb_copy_job_run(&j.copy().job[0], C.int64_t(first), C.int64_t(end))
}

// setThreads is SetNumThreads without its check; 0 forgets what was set.
func setThreads(n int) { work.SetThreads(n) }

// NumThreads is how many threads a large copy uses: what SetNumThreads said, else
// GRIDBUF_NUM_THREADS, else the processors that this process may use: those of its affinity mask,
// and no more than the CPU quota of its control groups. It is the number of every package.
func NumThreads() int { return work.Threads() }

// SetNumThreads sets the number of threads for this process.
func SetNumThreads(n int) error {
	if n < 1 {
		return alloc.ErrInvalid.Errorf("n: %d threads are not possible; give 1 or more", n)
	}
	setThreads(min(n, 1<<16))
	return nil
}
