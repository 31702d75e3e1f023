package transfer

// #include <stdlib.h>
// #include "transfer.h"
import "C"

import (
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/work"
)

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
