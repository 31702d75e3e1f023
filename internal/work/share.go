// Package work shares work in pieces among goroutines, for as long as a budget of time lasts. Packages copies and sums within
// it go on with what the C of transfer and exact has planned; they are what the extension has of those rooms' Go.
package work

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
// #cgo nocallback gb_nanoseconds
// #cgo noescape gb_nanoseconds
// #include "../../alloc/clock.h"
import "C"

import (
	"sync"
	"sync/atomic"

	"gridbuf/alloc"
	"gridbuf/internal/message"
)

// Deadline is the time on the clock of clock.h when a budget, in nanoseconds, will be spent.
func Deadline(budget int64) int64 { return int64(C.gb_nanoseconds()) + budget }

// Spent says that it has come.
func Spent(deadline int64) bool { return int64(C.gb_nanoseconds()) > deadline }

// Shared is work of which any range of pieces may be done by any thread.
type Shared struct {
	Pieces, Batch int64 // how many there are, and how many are worth taking at a time
	Threads       int
	Run           func(first, end int64)
	Doing         string // for the error when Run panics: "panic while copying"
}

// Share hands pieces to this goroutine and its helpers, a batch at a time, until
// there are no more or the time is over. All pieces below the one it returns are done.
func (s *Shared) Share(first, deadline int64) (reached int64, err error) {
	var next atomic.Int64
	next.Store(first)
	var failure atomic.Pointer[error]
	var helpers sync.WaitGroup
	work := func() {
		for {
			t := next.Add(s.Batch) - s.Batch
			if t >= s.Pieces {
				return
			}
			s.Run(t, min(t+s.Batch, s.Pieces))
			if Spent(deadline) {
				return
			}
		}
	}
	for i := 1; i < s.Threads; i++ {
		helpers.Go(func() {
			defer s.recovered(&failure)
			work()
		})
	}
	func() {
		defer s.recovered(&failure)
		work()
	}()
	helpers.Wait()
	if why := failure.Load(); why != nil {
		return min(next.Load(), s.Pieces), *why
	}
	return min(next.Load(), s.Pieces), nil
}

// recovered is deferred where a panic would end the process, or leave helpers at work unseen. The last of several is told.
func (s *Shared) recovered(failure *atomic.Pointer[error]) {
	if r := recover(); r != nil {
		err := alloc.ErrUnavailable.Errorf("panic while %s: %s\n%s", s.Doing, message.Of(r), message.Stack())
		failure.Store(&err)
	}
}
