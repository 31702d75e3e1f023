package cuda

// #include "cuda.h"
import "C"

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"gridbuf/internal/handle"
	"gridbuf/internal/stop"
	"gridbuf/internal/work"
)

// Kind is a kind of memory.
type Kind int

const (
	DeviceMemory Kind = C.GB_CUDA_DEVICE
	// of the host, for copies that do not stop at a staging buffer
	Pinned  Kind = C.GB_CUDA_PINNED
	Managed Kind = C.GB_CUDA_MANAGED // one address on both sides
)

func (k Kind) String() string {
	switch k {
	case DeviceMemory:
		return "device"
	case Pinned:
		return "pinned"
	case Managed:
		return "managed"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// Request is Span bytes from an address that is Offset modulo Boundary. A Boundary
// of 0 is 256.
type Request struct {
	Kind                   Kind
	Device                 int
	Span, Boundary, Offset int64
	Stream                 Stream // first stream to use it
	Plan                   uint64
}

// Block holds memory from a pool, until Free.
type Block struct{ block handle.Handle }

func newBlock(c *C.gb_cuda_block) *Block {
	b := &Block{}
	b.block.Hold(unsafe.Pointer(c))
	return b
}

const blockName = "cuda.Block"

func (b *Block) c() *C.gb_cuda_block { return (*C.gb_cuda_block)(b.block.Address(blockName)) }

// fault is why there is no block to work with; nil where there is.
func (b *Block) fault() error { return refuseFault(blockName, b.block.Fault()) }

// Alloc takes a block from a pool; its contents are undefined. Free gives the block back.
func Alloc(w Request) (*Block, error) {
	if w.Boundary == 0 {
		w.Boundary = 256
	}
	var e C.gb_cuda_error
	var b *C.gb_cuda_block
	request := C.gb_cuda_request{
		kind: C.int32_t(w.Kind), device: C.int32_t(w.Device), span: C.int64_t(w.Span),
		boundary: C.int64_t(w.Boundary),
		offset:   C.int64_t(w.Offset), stream: C.gb_cuda_stream(w.Stream), plan: C.uint64_t(w.Plan),
	}
	if err := check(C.gb_cuda_alloc(&request, &b, &e), &e); err != nil {
		return nil, err
	}
	return newBlock(b), nil
}

// Address is where the memory begins. The host must not read device memory there.
func (b *Block) Address() uintptr { return uintptr(b.c().data) }

// Bytes is what may be used from Address on.
func (b *Block) Bytes() int64 { return int64(b.c().bytes) }

// ID names the block for good: no other block ever has the same.
func (b *Block) ID() uint64 { return uint64(b.c().id) }

// Share keeps the memory for one more holder; each holder calls Free once.
func (b *Block) Share() *Block {
	c := b.c()
	C.gb_cuda_share(c)
	return newBlock(c)
}

// Free gives the memory back once every holder has done so; it may be called from any goroutine. A
// second Free of one holder does nothing.
func (b *Block) Free() {
	if c := (*C.gb_cuda_block)(b.block.Take(blockName)); c != nil {
		C.gb_cuda_release(c)
	}
}

// Find gives one more holder of the block in use that begins at an address, or nil.
func Find(address uintptr) *Block {
	if c := C.gb_cuda_find_shared(C.uint64_t(address)); c != nil {
		return newBlock(c)
	}
	return nil
}

// RecordUse says that the work now on a queue, of whichever GPU, uses the block.
func (b *Block) RecordUse(q Queue) error {
	if err := b.fault(); err != nil {
		return err
	}
	var e C.gb_cuda_error
	return check(C.gb_cuda_record_use(b.c(), q.c(), &e), &e)
}

// InFlight gives a stream of the block's own GPU behind which all recorded work is done, if there
// is any that is not.
func (b *Block) InFlight() (Stream, bool, error) {
	if err := b.fault(); err != nil {
		return 0, false, err
	}
	var e C.gb_cuda_error
	var s C.gb_cuda_stream
	r := C.gb_cuda_in_flight(b.c(), &s, &e)
	return Stream(s), r == 1, check(r, &e)
}

// WaitBlock makes what comes on the queue wait for the work on a block that is in flight.
func (q Queue) WaitBlock(b *Block) error {
	if err := b.fault(); err != nil {
		return err
	}
	var e C.gb_cuda_error
	return check(C.gb_cuda_stream_wait_block(b.c(), q.c(), &e), &e)
}

// Synchronize waits on the host for the work on the block that is in flight, on whichever GPU. The
// context, which may be nil, is asked first and while the host waits; after its end the work goes
// on.
func (b *Block) Synchronize(ctx context.Context) error {
	if err := b.fault(); err != nil {
		return err
	}
	if err := stop.Asked(ctx); err != nil {
		return err
	}
	held := b.Share() // the wait may outlast the caller's holding
	return stop.Waiting(ctx, func() error {
		defer held.Free()
		var e C.gb_cuda_error
		return check(C.gb_cuda_synchronize_block(held.c(), &e), &e)
	})
}

// Stats counts what a pool did; Limit < 0 is none.
type Stats struct {
	LiveBytes, CachedBytes, PeakBytes, LiveBuffers int64
	Allocations, Hits, Misses, Limit, CacheBound   int64
}

// PoolStats reads the counters of the pool of a kind and a GPU. Pinned memory has one pool.
func PoolStats(k Kind, device int) Stats {
	var s C.gb_cuda_stats
	C.gb_cuda_get_stats(C.int(k), C.int(device), &s)
	return Stats{
		LiveBytes: int64(s.live_bytes), CachedBytes: int64(s.cached_bytes),
		PeakBytes:   int64(s.peak_bytes),
		LiveBuffers: int64(s.live_buffers), Allocations: int64(s.allocations), Hits: int64(s.hits),
		Misses: int64(s.misses),
		Limit:  int64(s.limit), CacheBound: int64(s.cache_bound),
	}
}

// SetLimit bounds the bytes in use; a negative number is no limit.
func SetLimit(k Kind, device int, bytes int64) {
	C.gb_cuda_set_limit(C.int(k), C.int(device), C.int64_t(bytes))
}

// SetCacheBound bounds what is kept of unused memory.
func SetCacheBound(k Kind, device int, bytes int64) {
	C.gb_cuda_set_cache_bound(C.int(k), C.int(device), C.int64_t(bytes))
}

// Trim gives unused memory back to the driver, but for keep bytes, and returns how many bytes that
// were.
func Trim(k Kind, device int, keep int64) int64 {
	return int64(C.gb_cuda_trim(C.int(k), C.int(device), C.int64_t(keep)))
}

// Live is a block in use, as [LiveBlocks] saw it.
type Live struct {
	Address  uintptr
	Bytes    int64
	ID, Plan uint64
	Kind     Kind
	Device   int
}

// LiveBlocks lists at most n blocks in use, the largest first; not more than 65536.
func LiveBlocks(n int) []Live {
	n = min(max(n, 0), 1<<16)
	found := make([]C.gb_cuda_live, n+1)
	count := C.gb_cuda_live_blocks(&found[0], C.int64_t(n))
	list := make([]Live, 0, n)
	for _, l := range found[:count] {
		b := l.block
		list = append(list, Live{
			Address: uintptr(b.data), Bytes: int64(b.bytes), ID: uint64(b.id), Plan: uint64(l.plan),
			Kind: Kind(b.kind), Device: int(b.device),
		})
	}
	return list
}

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

// FreeStream gives a stream of NewStream back once its work is done, without waiting for that.
func FreeStream(device int, s Stream) {
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
func (v *Event) Done() (bool, error) { return v.wait(0) }

// Wait waits until the work is done. The context, which may be nil, is asked first and while the
// host waits; after its end the work goes on.
func (v *Event) Wait(ctx context.Context) error {
	for {
		if err := stop.Asked(ctx); err != nil {
			return err
		}
		most := int64(work.Slice)
		if ctx != nil {
			if end, ok := ctx.Deadline(); ok {
				most = min(most, time.Until(end).Nanoseconds())
			}
		}
		if most <= 0 { // the context's own timer may be a moment late
			<-ctx.Done()
			continue
		}
		done, err := v.wait(most)
		if done || err != nil {
			return err
		}
	}
}

// wait is Done after at most so many nanoseconds.
func (v *Event) wait(most int64) (bool, error) {
	if err := refuseFault(eventName, v.event.Fault()); err != nil {
		return false, err
	}
	var e C.gb_cuda_error
	r := C.gb_cuda_wait(v.c(), C.int64_t(most), &e)
	return r == 1, check(r, &e)
}

// WaitEvent makes what comes on the queue, of whichever GPU, wait for the event; the host does not
// wait.
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
