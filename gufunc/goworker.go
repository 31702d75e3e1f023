package gufunc

// #include <stdlib.h>
// #include "call.h"
import "C"

import (
	"sync/atomic"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/message"
)

// lastPanic keeps what a Go kernel panicked with, for LastPanic.
var lastPanic atomic.Value

// LastPanic is what the last panic of a Go kernel said, with its stack; empty when
// there was none.
func LastPanic() string {
	s, _ := lastPanic.Load().(string)
	return s
}

// goWorker is one worker's state for kernels written in Go.
type goWorker struct {
	job *Job
	b   *C.gb_gu_block
}

func newGoWorker(j *Job) (*goWorker, error) {
	// One block of C memory: the place in the job, then the scratch space.
	head := C.size_t((C.sizeof_gb_gu_block + 63) &^ 63)
	p := C.aligned_alloc(64, head+C.size_t(j.call.scratch))
	if p == nil {
		return nil, alloc.ErrNoMemory.Errorf("no memory left for the scratch space of a worker")
	}
	clear(unsafe.Slice((*byte)(p), int(head)))
	w := &goWorker{j, (*C.gb_gu_block)(p)}
	C.gb_gu_block_start(w.b, j.job, (*C.char)(unsafe.Add(p, head)))
	return w, nil
}

func (w *goWorker) free() { C.free(unsafe.Pointer(w.b)) }

func (w *goWorker) piece(p *C.gb_gu_piece) {
	C.gb_gu_block_piece(w.b, p)
	for C.gb_gu_block_next(w.b) != 0 {
		w.call()
		C.gb_gu_block_done(w.b)
	}
}

// call runs the kernel over a block. When it panics, the block is run again element
// by element to find out where.
func (w *goWorker) call() {
	n := int(w.b.n)
	block := Block{N: n, Status: unsafe.Slice((*uint8)(w.b.status), n), c: w.b}
	for _, size := range unsafe.Slice((*int64)(&w.job.call.core[0]), int(w.job.call.ncore)) {
		block.Dims = append(block.Dims, int(size))
	}
	failed, ok := guarded(w.job.kernel, block)
	if !ok {
		failed = w.each(block)
	}
	w.b.nfailed = C.int64_t(failed)
}

func (w *goWorker) each(block Block) int {
	args := w.b.args
	defer func() { w.b.args = args }()
	failed, n := 0, block.N
	status := block.Status
	clear(status)
	for i := range n {
		one := block
		one.N, one.Status = 1, status[i:i+1]
		k, ok := guarded(w.job.kernel, one)
		if !ok {
			status[i], k = CodePanic, 1
		}
		failed += k
		for o := range int(w.job.call.nop) {
			w.b.args[o] = (*C.char)(unsafe.Add(unsafe.Pointer(w.b.args[o]), int(w.b.steps[o])))
		}
	}
	return failed
}

// guarded calls a kernel; false when it panicked.
func guarded(k GoKernel, b Block) (failed int, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			lastPanic.Store(message.Panic(r))
		}
	}()
	return k(b), true
}
