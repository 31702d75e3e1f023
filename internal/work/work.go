// Package work shares work in pieces among goroutines, for as long as a budget of time lasts.
package work

import (
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"gridbuf/alloc"
)

// Shared is work of which any range of pieces may be done by any thread.
type Shared struct {
	Pieces, Batch int64 // how many there are, and how many are worth taking at a time
	Threads       int
	Run           func(first, end int64)
	Doing         string // for the error when Run panics: "panic while copying"
}

// Share hands pieces to this goroutine and its helpers, a batch at a time, until
// there are no more or the time is over. All pieces below the one it returns are done.
func (s *Shared) Share(first int64, end time.Time) (reached int64, err error) {
	var next atomic.Int64
	next.Store(first)
	work := func() {
		for {
			t := next.Add(s.Batch) - s.Batch
			if t >= s.Pieces {
				return
			}
			s.Run(t, min(t+s.Batch, s.Pieces))
			if time.Now().After(end) {
				return
			}
		}
	}
	failures := make([]error, s.Threads)
	var helpers sync.WaitGroup
	for i := 1; i < s.Threads; i++ {
		helpers.Go(func() {
			defer s.recovered(&failures[i])
			work()
		})
	}
	func() {
		defer s.recovered(&failures[0])
		work()
	}()
	helpers.Wait()
	return min(next.Load(), s.Pieces), errors.Join(failures...)
}

// recovered is deferred where a panic would end the process, or leave helpers at work unseen.
func (s *Shared) recovered(failure *error) {
	if r := recover(); r != nil {
		*failure = alloc.ErrUnavailable.Errorf("panic while %s: %v\n%s", s.Doing, r, debug.Stack())
	}
}
