package cuda

// #include "cuda.h"
import "C"

import "time"

// Stream is a CUstream: 0 and 1 are the legacy default, 2 is the thread's own default.
type Stream uintptr

// Queue is where work goes: a stream says nothing without its GPU.
type Queue struct {
	Device int
	Stream Stream
}

func (q Queue) c() C.gb_cuda_queue { return on(q.Device, q.Stream) }

func on(device int, s Stream) C.gb_cuda_queue {
	return C.gb_cuda_queue{device: C.int32_t(device), stream: C.gb_cuda_stream(s)}
}

// Owner is the GPU that a stream was made on; false for the default streams, which every GPU has.
func Owner(s Stream) (device int, one bool, err error) {
	var e C.gb_cuda_error
	var d C.int
	err = check(C.gb_cuda_owner(C.gb_cuda_stream(s), &d, &e), &e)
	return int(d), d >= 0, err
}

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
	if err := check(C.gb_cuda_record(on(device, s), &event, &e), &e); err != nil {
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

// Before makes a queue, of whichever GPU, wait for the work; the host does not.
func (v *Event) Before(q Queue) error {
	var e C.gb_cuda_error
	return check(C.gb_cuda_order(v.c, q.c(), &e), &e)
}

// Follow makes what comes on one queue wait for all that is on another now.
func Follow(later, earlier Queue) error {
	var e C.gb_cuda_error
	return check(C.gb_cuda_follow(later.c(), earlier.c(), &e), &e)
}

// Forget lets the event go, done or not.
func (v *Event) Forget() { C.gb_cuda_forget(v.c) }
