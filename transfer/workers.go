package transfer

// #cgo nocallback gb_copy_job_run
// #cgo noescape gb_copy_job_run
// #cgo nocallback gb_program_entries_run
// #cgo noescape gb_program_entries_run
// #include "program.h"
import "C"

import (
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"gridbuf/alloc"
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
		work := shared{
			pieces: int64(job.tiles), batch: int64(C.gb_copy_job_batch(job)), threads: int(C.gb_copy_job_threads(job)),
			run: func(first, end int64) { runTiles(job, first, end) },
		}
		reached, err := work.share(int64(c.at_tile), end)
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

// ResumeProgram goes on with a gb_program_run for about as long as the budget says, on as many threads as it is worth.
func ResumeProgram(run unsafe.Pointer, budget time.Duration) error {
	r := (*C.gb_program_run)(run)
	p, bases := r.program, r.bases
	work := shared{
		pieces: int64(p.n), batch: int64(C.gb_program_batch(p)), threads: int(C.gb_program_threads(p)),
		run: func(first, end int64) { C.gb_program_entries_run(p, bases, C.int64_t(first), C.int64_t(end)) },
	}
	reached, err := work.share(int64(r.at), time.Now().Add(budget))
	r.at = C.int64_t(reached)
	return err
}

// shared is work in pieces of which any range may be done by any thread: how many there are, how many are
// worth taking at a time, and by how many threads.
type shared struct {
	pieces, batch int64
	threads       int
	run           func(first, end int64)
}

// share hands pieces to this goroutine and its helpers, a batch at a time, until
// there are no more or the time is over. All pieces below the one it returns are done.
func (s *shared) share(first int64, end time.Time) (reached int64, err error) {
	var next atomic.Int64
	next.Store(first)
	work := func() {
		for {
			t := next.Add(s.batch) - s.batch
			if t >= s.pieces {
				return
			}
			s.run(t, min(t+s.batch, s.pieces))
			if time.Now().After(end) {
				return
			}
		}
	}
	failures := make([]error, s.threads)
	var helpers sync.WaitGroup
	for i := 1; i < s.threads; i++ {
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
	return min(next.Load(), s.pieces), errors.Join(failures...)
}

// recovered is deferred where a panic would end the process, or leave helpers at work unseen.
func recovered(failure *error) {
	if r := recover(); r != nil {
		*failure = alloc.ErrUnavailable.Errorf("panic while copying: %v\n%s", r, debug.Stack())
	}
}
