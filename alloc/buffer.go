package alloc

// #include "heap.h"
import "C"

import "unsafe"

// Buffer is a plan plus memory.
type Buffer struct {
	plan   *Plan
	data   unsafe.Pointer
	checks *checks // who recorded it, or nil
}

// New takes memory for a plan from the heap; its contents are undefined. Free
// gives it back.
func New(p *Plan) (*Buffer, error) {
	if p == nil {
		return nil, ErrInvalid.Errorf("alloc.New: the plan is nil")
	}
	if p.device == GPU || p.memory != Plain {
		return nil, ErrUnavailable.Errorf("alloc.New: only plain host memory is served here")
	}
	want := p.want()
	for {
		var data unsafe.Pointer
		var fresh C.int
		switch C.gb_heap_take(&want, &data, &fresh) {
		case C.GB_HEAP_TAKEN:
			return made(&Buffer{plan: p, data: data}), nil
		case C.GB_HEAP_OVER_LIMIT:
			return nil, ErrNoMemory.Errorf("cannot allocate %d bytes: %s", p.reserve, Statistics())
		}
		if err := refill(p.reserve); err != nil {
			return nil, err
		}
	}
}

// Plan is how the memory is laid out.
func (b *Buffer) Plan() *Plan { return b.plan }

// Data is the address of element 0. The memory is C memory: it may be handed to C.
func (b *Buffer) Data() unsafe.Pointer { return b.data }

// ID names the buffer for good: an address comes back, an ID never does.
func (b *Buffer) ID() uint64 { return uint64(C.gb_heap_block_id(b.data)) }

// Bytes is the memory from element 0 to the end of the padding.
func (b *Buffer) Bytes() []byte { return unsafe.Slice((*byte)(b.data), b.plan.span) }

// Zero sets the whole span to zero bytes; large blocks get new pages instead.
func (b *Buffer) Zero() {
	if !b.renew() {
		clear(b.Bytes())
	}
}

func (b *Buffer) renew() bool { return C.gb_heap_zero(b.data, C.int64_t(b.plan.span)) == 0 }

// Share keeps the memory alive for one more holder; each holder calls Free once.
func (b *Buffer) Share() *Buffer {
	C.gb_heap_share(b.data)
	return made(&Buffer{plan: b.plan, data: b.data})
}

// Free gives the memory back once every holder has done so.
func (b *Buffer) Free() {
	if b.data != nil {
		if b.checks != nil {
			b.checks.freed(b)
		}
		C.gb_heap_release(b.data)
		b.data = nil
	}
}
