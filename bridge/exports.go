package bridge

// #include "gufunc.h"
import "C"

import (
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/record"
)

// The first call, which waits until Go's runtime has started.
//
//export gbridge_start
func gbridge_start(e *C.gb_error) C.int { return guard(e, start) }

//export gbridge_explain
func gbridge_explain(dims *C.int32_t, ndim C.int32_t, words *C.int64_t, n C.int64_t, room *C.char,
	size C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error {
		return explain(unsafe.Slice((*alloc.Dim)(dims), ndim), unsafe.Slice((*int64)(words), n),
			text(room, size))
	})
}

func explain(dims []alloc.Dim, figures record.Figures, room []byte) error {
	facts, err := alloc.ExplainFigures(dims, figures)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, fact := range facts {
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
