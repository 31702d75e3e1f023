package cuda

// #include "cuda.h"
import "C"

import "time"

// Stream is a CUstream: 0 and 1 are the legacy default, 2 is the thread's own default.
type Stream uintptr

// NewStream makes a stream that does not wait for the default one.
func NewStream(device int) (Stream, error) {
	var e C.gb_cuda_error
	var s C.gb_cuda_stream
	err := check(C.gb_cuda_new_stream(C.int(device), &s, &e), &e)
	return Stream(s), err
}

// DropStream ends a stream of NewStream once its work is done, without waiting for that.
func DropStream(device int, s Stream) { C.gb_cuda_drop_stream(C.int(device), C.gb_cuda_stream(s)) }

// Event stands for the work that was on a stream when it was recorded.
type Event struct{ c *C.gb_cuda_event }

// Record makes an event. Whoever has it calls Forget.
func Record(device int, s Stream) (*Event, error) {
	var e C.gb_cuda_error
	var event *C.gb_cuda_event
	if err := check(C.gb_cuda_record(C.int(device), C.gb_cuda_stream(s), &event, &e), &e); err != nil {
		return nil, err
	}
	return &Event{event}, nil
}

// Done asks whether the work is done.
func (v *Event) Done() (bool, error) {
	var e C.gb_cuda_error
	r := C.gb_cuda_query(v.c, &e)
	return r == 1, check(r, &e)
}

// Wait waits for the work, for so long at most, and says whether it is done.
func (v *Event) Wait(most time.Duration) (bool, error) {
	var e C.gb_cuda_error
	r := C.gb_cuda_wait(v.c, C.int64_t(most), &e)
	return r == 1, check(r, &e)
}

// Before makes a stream wait for the work; the host does not.
func (v *Event) Before(s Stream) error {
	var e C.gb_cuda_error
	return check(C.gb_cuda_order(v.c, C.gb_cuda_stream(s), &e), &e)
}

// Forget lets the event go, done or not.
func (v *Event) Forget() { C.gb_cuda_forget(v.c) }
