// Package work goes on with work in pieces that C has planned (transfer/work.h), shared among goroutines, for as long as a budget of
// time lasts. What the pieces are is C's business; whoever links this has it from package transfer or exact, or from the extension.
package work

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
// #cgo nocallback gb_nanoseconds
// #cgo noescape gb_nanoseconds
// #cgo nocallback gb_work_run
// #cgo noescape gb_work_run
// #include "../../alloc/clock.h"
// #include "../../transfer/work.h"
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/message"
)

// Run does some pieces of a gb_work; it is a variable so that a test can make it panic.
var Run = func(work unsafe.Pointer, first, end int64) {
	C.gb_work_run((*C.gb_work)(work), C.int64_t(first), C.int64_t(end))
}

// share is a gb_work that several goroutines go on with.
type share struct {
	work                    unsafe.Pointer
	pieces, batch, deadline int64
	next                    atomic.Int64
	failure                 atomic.Pointer[error]
}

// Resume goes on with a gb_work for about as long as the budget (nanoseconds) says, on as many threads as it is worth, a batch
// at a time. All pieces below the one where it stops are done, unless it failed.
func Resume(work unsafe.Pointer, budget int64) (done bool, err error) {
	w := (*C.gb_work)(work)
	s := share{work: work, pieces: int64(w.pieces), batch: int64(w.batch), deadline: int64(C.gb_nanoseconds()) + budget}
	s.next.Store(int64(w.at))
	var helpers sync.WaitGroup
	for i := 1; i < int(w.threads); i++ {
		helpers.Go(s.help)
	}
	s.help()
	helpers.Wait()
	w.at = C.int64_t(min(s.next.Load(), s.pieces))
	if why := s.failure.Load(); why != nil {
		return false, *why
	}
	return w.at == w.pieces, nil
}

func (s *share) help() {
	defer s.recovered()
	for {
		first := s.next.Add(s.batch) - s.batch
		if first >= s.pieces {
			return
		}
		Run(s.work, first, min(first+s.batch, s.pieces))
		if int64(C.gb_nanoseconds()) > s.deadline {
			return
		}
	}
}

// recovered is deferred where a panic would end the process, or leave helpers at work unseen. The last of several is told.
func (s *share) recovered() {
	if r := recover(); r != nil {
		err := alloc.ErrUnavailable.Errorf("panic while working on arrays: %s", message.Panic(r))
		s.failure.Store(&err)
	}
}
