// Package work is the threads of all rooms: work that C has planned, shared with helpers (work.h),
// and how many threads there are. What the pieces of work are is the business of the
// room that planned them.
package work

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter
// #cgo LDFLAGS: -lm -lpthread
// #include "work.h"
import "C"

import "unsafe"

// Slice is how long (nanoseconds) work of a Go program runs between two looks at its context; a
// test makes it shorter.
var Slice int64 = 50_000_000

// Resume goes on with a gb_work in C memory for about as long as the budget (nanoseconds) says, on
// as many threads as it is worth.
func Resume(work unsafe.Pointer, budget int64) (done bool) {
	return C.gb_work_resume((*C.gb_work)(work), C.int64_t(budget)) != 0
}

// Threads is how many threads share large work: what SetThreads said, else GRIDBUF_NUM_THREADS,
// else the processors that this process may use.
func Threads() int { return int(C.gb_work_thread_count()) }

// SetThreads sets the number for this process; below 1 it forgets what was set.
func SetThreads(n int) { C.gb_work_set_thread_count(C.int(n)) }
