package alloc

// #cgo noescape take
// #cgo nocallback take
// #cgo noescape gb_heap_block_id
// #cgo nocallback gb_heap_block_id
// #cgo noescape gb_heap_zero
// #cgo nocallback gb_heap_zero
// #cgo noescape gb_heap_share
// #cgo nocallback gb_heap_share
// #cgo noescape release
// #cgo nocallback release
// #cgo noescape gb_heap_get_stats
// #cgo nocallback gb_heap_get_stats
// #include "heap.h"
//
// // Without pointers among the arguments, which cgo would look at.
// typedef struct { void *data; int result; } taken;
//
// static taken take(gb_heap_layout want) {
//     taken t;
//     int fresh;
//     t.result = gb_heap_take(&want, &t.data, &fresh);
//     return t;
// }
//
// static void release(uintptr_t data) { gb_heap_release((void *)data); }
import "C"

import (
	"unsafe"

	"gridbuf/internal/handle"
	"gridbuf/internal/message"
)

// Buffer is a plan plus memory. Use the pointer that New or Share gave, until Free; a
// method that is called later, or on the zero Buffer or a copy, panics with a sentence.
type Buffer struct {
	plan   *Plan
	memory handle.Handle
	checks *checks // the checks that recorded the Buffer, or nil
	holder *holder // with GRIDBUF_DEBUG=1
}

// New takes memory for a plan from the heap; its contents are undefined. Free
// gives it back.
func New(p *Plan) (*Buffer, error) {
	if p == nil || p.reserve <= p.span {
		return nil, ErrInvalid.Errorf("alloc.New: the plan is nil, empty, or describes memory " +
			"that exists; give one of NewPlan")
	}
	if p.device == GPU || p.memory != Plain {
		return nil, ErrUnavailable.Errorf("alloc.New: only plain host memory is served here")
	}
	want := p.want()
	for {
		taken := C.take(want)
		switch taken.result {
		case C.GB_HEAP_TAKEN:
			return made(p, taken.data), nil
		case C.GB_HEAP_OVER_LIMIT:
			return nil, ErrNoMemory.Errorf("cannot allocate %d bytes: %s", p.reserve, Statistics())
		}
		if err := refill(p.reserve); err != nil {
			return nil, err
		}
	}
}

// refill gives the heap a slab for blocks that reserve the given bytes. Where the system has none
// left, the memory in the heap's cache goes back first.
func refill(reserve int64) error {
	if rc, err := C.gb_heap_refill(C.int64_t(reserve)); rc != 0 {
		return ErrNoMemory.Errorf("cannot allocate %d bytes: the system has none left (%v); %s",
			reserve, message.Of(err), Statistics())
	}
	return nil
}

// Plan is how the memory is laid out.
func (b *Buffer) Plan() *Plan { return b.plan }

// Data is the address of element 0. The memory is C memory: it may be handed to C.
func (b *Buffer) Data() unsafe.Pointer { return b.memory.Address("alloc.Buffer") }

// ID names the buffer for good: an address comes back, an ID never does.
func (b *Buffer) ID() uint64 { return uint64(C.gb_heap_block_id(b.Data())) }

// Bytes is the memory from element 0 to the end of the padding.
func (b *Buffer) Bytes() []byte { return unsafe.Slice((*byte)(b.Data()), b.plan.span) }

// Zero sets the whole span to zero bytes; large blocks get new pages instead.
func (b *Buffer) Zero() {
	if !b.renew() {
		clear(b.Bytes())
	}
}

func (b *Buffer) renew() bool { return C.gb_heap_zero(b.Data(), C.int64_t(b.plan.span)) == 0 }

// Share keeps the memory alive for one more holder; each holder calls Free once.
func (b *Buffer) Share() *Buffer {
	data := b.Data()
	C.gb_heap_share(data)
	return made(b.plan, data)
}

// Free gives the memory back once every holder has done so. A second Free of one holder does
// nothing, and goroutines may call it at the same time.
func (b *Buffer) Free() {
	if data := b.memory.Take("alloc.Buffer"); data != nil {
		if b.checks != nil {
			b.checks.freed(b)
		}
		b.noteFree()
		C.release(C.uintptr_t(uintptr(data)))
	}
}

// Stats is a consistent picture of the heap.
type Stats struct {
	LiveBytes, CachedBytes, PeakBytes, LiveBuffers int64
	Allocations, Hits, Misses                      int64
	Limit                                          int64 // -1: none
}

// Statistics reads the heap's counters, all at one moment.
func Statistics() Stats {
	var s C.gb_heap_stats
	C.gb_heap_get_stats(&s)
	return Stats{
		LiveBytes: int64(s.live_bytes), CachedBytes: int64(s.cached_bytes),
		PeakBytes:   int64(s.peak_bytes),
		LiveBuffers: int64(s.live_buffers), Allocations: int64(s.allocations), Hits: int64(s.hits),
		Misses: int64(s.misses),
		Limit:  int64(s.limit),
	}
}

func (s Stats) String() string {
	limit := "no limit"
	if s.Limit >= 0 {
		limit = message.Format("limit %d bytes", s.Limit)
	}
	return message.Format("%d bytes live in %d buffers, %d cached, %s", s.LiveBytes, s.LiveBuffers,
		s.CachedBytes, limit)
}

// Trim gives the cached memory back to the system and says how much that was.
func Trim() int64 { return int64(C.gb_heap_trim(0)) }

// SetLimit bounds live memory, in bytes; a negative limit is none.
func SetLimit(bytes int64) { C.gb_heap_set_limit(C.int64_t(bytes)) }

// SetCacheBound bounds what the heap keeps for reuse; until then as much as was live at most,
// within this process's share of the machine.
func SetCacheBound(bytes int64) { C.gb_heap_set_cache_bound(C.int64_t(bytes)) }
