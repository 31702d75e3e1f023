package bridge

// #include "gufunc.h"
import "C"

import (
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/explain"
)

// The first call, which waits until Go's runtime has started.
//
//export gbridge_start
func gbridge_start(e *C.gb_error) C.int { return guard(e, start) }

//export gbridge_explain
func gbridge_explain(dims *C.int32_t, ndim C.int32_t, words *C.int64_t, n C.int64_t, room *C.char,
	size C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error {
		return explainPlan(unsafe.Slice((*alloc.Dim)(dims), ndim), unsafe.Slice((*int64)(words), n),
			text(room, size))
	})
}

// explainPlan reads the figures of a plan: shape, strides, padded shape, aligned index and layout
// with an entry for each index, then the bytes of an item, of the boundary, of the offset, of all
// elements, and those that are reserved.
func explainPlan(dims []alloc.Dim, words []int64, room []byte) error {
	const lists, numbers = 5, 5
	n := len(dims)
	if len(words) != lists*n+numbers {
		return alloc.ErrInvalid.Errorf("plan: its shape, strides, padded_shape, aligned_index and "+
			"layout need an entry for each of its %d dims", n)
	}
	list := func(k int) []int64 { return words[k*n : (k+1)*n] }
	last := words[lists*n:]
	figures := explain.Figures{
		Shape: list(0), Strides: list(1), PaddedShape: list(2), AlignedIndex: list(3),
		Layout: list(4), ItemSize: last[0], ByteAlignment: last[1], Offset: last[2], Bytes: last[3],
		Reserve: last[4],
	}
	for _, d := range dims {
		figures.Dims = append(figures.Dims, d.String())
	}
	if figures.ByteAlignment <= 0 {
		return alloc.ErrInvalid.Errorf("byte_alignment: %d; expected 1 or more bytes",
			figures.ByteAlignment)
	}
	var lines strings.Builder
	for _, fact := range figures.Facts() {
		lines.WriteString(fact.Term + "\t" + fact.Text + "\n")
	}
	return writeText(room, lines.String())
}

// mostProcessors bounds the threads of Go's runtime on large machines: pyext/core/go.c tries
// whether so many, and those that the runtime has beside them, can be made.
const mostProcessors = 56

// start makes all threads that Go's runtime can want, while the extension knows that there is room
// for them. Later the runtime would end the process where a limit refuses it a thread.
func start() error {
	processors := min(runtime.GOMAXPROCS(0), mostProcessors)
	runtime.GOMAXPROCS(1) // while many run at a time, the runtime makes more threads than it needs
	made, gate := make(chan struct{}), make(chan struct{})
	var ended sync.WaitGroup
	for range processors + 2 { // all that run, and two that wait for one another in the runtime
		ended.Add(1)
		go func() {
			defer func() {
				_ = recover() // the rule of every goroutine; nothing here panics
				ended.Done()
			}()
			runtime.LockOSThread() // a thread of its own, which stays, idle, after the unlock
			defer runtime.UnlockOSThread()
			made <- struct{}{}
			<-gate
		}()
		<-made
	}
	close(gate)
	ended.Wait()
	runtime.GOMAXPROCS(processors) // fixed: the runtime else follows the control group's quota
	return nil
}
