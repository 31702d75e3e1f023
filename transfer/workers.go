package transfer

// #cgo nocallback gb_copy_job_run
// #cgo noescape gb_copy_job_run
// #include "transfer.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

type jobRecord = C.gb_copy_job

// runTiles is a variable so that a test can make it panic.
var runTiles = func(job *jobRecord, first, end int64) { C.gb_copy_job_run(job, C.int64_t(first), C.int64_t(end)) }

// Resume goes on with a gb_copy that C has planned, as [Job.Run] does.
func Resume(copy unsafe.Pointer, budget time.Duration) (done bool, err error) {
	c := (*C.gb_copy)(copy)
	end := time.Now().Add(budget)
	for C.gb_copy_finished(c) == 0 {
		job := &c.job[c.at_job]
		reached, err := share(job, int64(c.at_tile), end)
		c.at_tile = C.int64_t(reached)
		if err != nil {
			return false, err
		}
		if reached < int64(job.tiles) {
			return false, nil
		}
		c.at_job++
		c.at_tile = 0
		if time.Now().After(end) {
			break
		}
	}
	return C.gb_copy_finished(c) != 0, nil
}

// share hands tiles to this goroutine and its helpers, a batch at a time, until
// there are no more or the time is over. All tiles below the one it returns are done.
func share(job *C.gb_copy_job, first int64, end time.Time) (reached int64, err error) {
	tiles, batch := int64(job.tiles), int64(C.gb_copy_job_batch(job))
	threads := int(C.gb_copy_job_threads(job))
	var next atomic.Int64
	next.Store(first)
	work := func() {
		for {
			t := next.Add(batch) - batch
			if t >= tiles {
				return
			}
			runTiles(job, t, min(t+batch, tiles))
			if time.Now().After(end) {
				return
			}
		}
	}
	failures := make([]error, threads)
	var helpers sync.WaitGroup
	for i := 1; i < threads; i++ {
		helpers.Go(func() {
			defer recovered(&failures[i])
			work()
		})
	}
	func() {
		defer recovered(&failures[0])
		work()
	}()
	helpers.Wait()
	return min(next.Load(), tiles), errors.Join(failures...)
}

// recovered is deferred where a panic would end the process, or leave helpers at work unseen.
func recovered(failure *error) {
	if r := recover(); r != nil {
		*failure = fmt.Errorf("panic while copying: %v\n%s", r, debug.Stack())
	}
}
