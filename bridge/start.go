package bridge

import (
	"runtime"
	"sync"
)

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
