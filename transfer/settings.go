package transfer

// #include <stdlib.h>
// #include "transfer.h"
import "C"

import (
	"unsafe"

	"gridbuf/alloc"
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

// setThreads is SetNumThreads without its check; 0 forgets what was set.
func setThreads(n int) { C.gb_copy_set_threads(C.int(n)) }

// NumThreads is how many threads a large copy uses: what SetNumThreads said, else
// GRIDBUF_NUM_THREADS, else the cores that this process may use.
func NumThreads() int { return int(C.gb_copy_threads()) }

// SetNumThreads sets the number of threads for this process.
func SetNumThreads(n int) error {
	if n < 1 {
		return alloc.ErrInvalid.Errorf("n: %d threads are not possible; give 1 or more", n)
	}
	setThreads(min(n, 1<<16))
	return nil
}
