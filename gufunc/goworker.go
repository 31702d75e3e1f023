package gufunc

// #include "call.h"
// intptr_t gb_gu_go_loop(char **args, intptr_t *dims, intptr_t *steps, void *data, uint8_t *status);
import "C"

import (
	"runtime"
	"sync/atomic"
	"unsafe"

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

// goKernels are the kernels that calls name by a number, which is the data of their loop: C memory has no pointers of Go.
var goKernels = numbered[GoKernel]{byNumber: map[uintptr]GoKernel{}}

// goLoop is the loop of all kernels that are written in Go, and the number of this one, which lives as long as its gufunc.
func (g *GUFunc) goLoop(k GoKernel) (function, data uintptr) {
	number := goKernels.add(k)
	runtime.AddCleanup(g, goKernels.remove, number)
	return uintptr(unsafe.Pointer(C.gb_gu_go_loop)), number
}

// gb_gu_go_loop runs a kernel over a block, on whichever thread has taken it. When the kernel panics, the block is run again element by
// element to find out where.
//
//export gb_gu_go_loop
func gb_gu_go_loop(args **C.char, dims, steps *C.intptr_t, data unsafe.Pointer, status *C.uint8_t) (failed C.intptr_t) {
	defer func() {
		if r := recover(); r != nil { // a fault of our own: kernels have their recover
			lastPanic.Store(message.Panic(r))
			failed = *dims
		}
	}()
	call := (*C.gb_gu_call)(data)
	here := &place{call, unsafe.Slice(args, int(call.nop)), unsafe.Slice(steps, C.GB_GU_MAXARGS*(1+C.GB_GU_MAXCORE))}
	defer func() { *here = place{} }()
	block := Block{N: int(*dims), Status: unsafe.Slice((*uint8)(status), int(*dims)), place: here}
	for _, size := range unsafe.Slice((*int64)(&call.core[0]), int(call.ncore)) {
		block.Dims = append(block.Dims, int(size))
	}
	k := goKernels.get(uintptr(call.data))
	n, ok := guarded(k, block)
	if !ok {
		n = each(k, block)
	}
	return C.intptr_t(n)
}

func each(k GoKernel, block Block) int {
	failed := 0
	clear(block.Status)
	for i := range block.N {
		one := block
		one.N, one.Status = 1, block.Status[i:i+1]
		n, ok := guarded(k, one)
		if !ok {
			one.Status[0], n = CodePanic, 1
		}
		failed += n
		at := block.place
		for o := range at.args {
			at.args[o] = (*C.char)(unsafe.Add(unsafe.Pointer(at.args[o]), int(at.steps[o])))
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
