package cuda

// #include "cuda.h"
import "C"

import (
	"time"
	"unsafe"

	"gridbuf/internal/handle"
)

// Stream is a CUstream: 0 and 1 are the legacy default, 2 is the thread's own default.
type Stream uintptr

// Queue is where work goes: a stream says nothing without its GPU.
type Queue struct {
	Device int
	Stream Stream
}

func (q Queue) c() C.gb_cuda_queue {
	return C.gb_cuda_queue{device: C.int32_t(q.Device), stream: C.gb_cuda_stream(q.Stream)}
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
	err := check(C.gb_cuda_create_stream(C.int(device), &s, &e), &e)
	return Stream(s), err
}

// DestroyStream ends a stream of NewStream once its work is done, without waiting for that.
func DestroyStream(device int, s Stream) {
	C.gb_cuda_destroy_stream(C.int(device), C.gb_cuda_stream(s))
}

// Event stands for the work that was on a queue when it was recorded, until Free.
type Event struct{ event handle.Handle }

const eventName = "cuda.Event"

func (v *Event) c() *C.gb_cuda_event { return (*C.gb_cuda_event)(v.event.Address(eventName)) }

// Record makes an event. Free gives it back.
func (q Queue) Record() (*Event, error) {
	var e C.gb_cuda_error
	var event *C.gb_cuda_event
	if err := check(C.gb_cuda_record(q.c(), &event, &e), &e); err != nil {
		return nil, err
	}
	v := &Event{}
	v.event.Hold(unsafe.Pointer(event))
	return v, nil
}

// Done asks whether the work is done.
func (v *Event) Done() (bool, error) { return v.Wait(0) }

// Wait waits for the work, for so long at most, and says whether it is done.
func (v *Event) Wait(most time.Duration) (bool, error) {
	if err := refuseFault(eventName, v.event.Fault()); err != nil {
		return false, err
	}
	var e C.gb_cuda_error
	r := C.gb_cuda_wait(v.c(), C.int64_t(most), &e)
	return r == 1, check(r, &e)
}

// WaitEvent makes what comes on the queue, of whichever GPU, wait for the event; the host does not wait.
func (q Queue) WaitEvent(v *Event) error {
	if err := refuseFault(eventName, v.event.Fault()); err != nil {
		return err
	}
	var e C.gb_cuda_error
	return check(C.gb_cuda_stream_wait_event(v.c(), q.c(), &e), &e)
}

// WaitQueue makes what comes on the queue wait for all that is on another now.
func (q Queue) WaitQueue(earlier Queue) error {
	var e C.gb_cuda_error
	return check(C.gb_cuda_stream_wait_stream(q.c(), earlier.c(), &e), &e)
}

// Free gives the event back, done or not. A second Free does nothing.
func (v *Event) Free() { C.gb_cuda_release_event((*C.gb_cuda_event)(v.event.Take(eventName))) }
