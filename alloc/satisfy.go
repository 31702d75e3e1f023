package alloc

// #include <stdlib.h>
// #include "plan.h"
import "C"

import (
	"slices"
	"unsafe"

	"gridbuf/internal/message"
)

// Unmet says what memory misses of a Spec. A copy in a new [Buffer] of the wanted Plan has it.
type Unmet struct {
	What   string // the field of Spec that is missed first, and how
	Wanted *Plan
	Found  []int64 // strides, in bytes
}

func (e *Unmet) Error() string {
	if e.Wanted == nil {
		return e.What
	}
	return message.Format("%s; strides: wanted %v for dims %s, found %v", e.What, e.Wanted.strides,
		DimsString(e.Wanted.dims), e.Found)
}

// Unwrap gives [ErrInvalid], for errors.Is.
func (e *Unmet) Unwrap() error { return ErrInvalid }

// Satisfies says whether memory is as a Spec wants it, so that it may be shared instead of copied:
// nil, an *[Unmet] that names the first requirement missed, or what is wrong with the Spec. The
// memory is what [Describe] says of it, of the Spec's shape and items, with element 0 at address.
//
// Only what the Spec asks for counts. A preset asks for the order of its strides, for unit stride
// where it is smallest, and for its own alignment; strides may be larger than a plan's, as those of
// a slice are.
func Satisfies(s *Spec, have *Plan, address uintptr) error {
	wanted, err := NewPlan(s)
	if err != nil {
		return err
	}
	if have == nil || !slices.Equal(have.shape, s.Shape) || have.itemSize != s.ItemSize {
		return ErrInvalid.Errorf("have: it must describe memory of shape %v with items of %d bytes",
			s.Shape, s.ItemSize)
	}
	var preset *C.gb_preset
	if s.Preset != nil {
		preset = &C.gb_preset{alignment: C.int64_t(s.Preset.Alignment)}
	}
	asked := C.gb_request{
		itemsize: C.int64_t(s.ItemSize), byte_alignment: C.int64_t(s.ByteAlignment),
		padding:   C.int64_t(s.Padding),
		alignment: C.int64_t(s.Alignment), device: C.int32_t(s.Device), memory: C.int32_t(s.Memory),
		layout_len: given(s.Layout), aligned_len: given(s.AlignedIndex),
	}
	w, h := wanted.record(), have.record()
	defer C.free(unsafe.Pointer(w))
	defer C.free(unsafe.Pointer(h))
	if w == nil || h == nil {
		return ErrNoMemory.Errorf("no memory left for a plan")
	}
	var missed C.gb_plan_missed
	C.gb_plan_compare(&asked, preset, w, h, C.uintptr_t(address), &missed)
	if missed.what == C.GB_PLAN_MEETS_ALL {
		return nil
	}
	return &Unmet{What: s.unmet(&missed, wanted, have), Wanted: wanted,
		Found: slices.Clone(have.strides)}
}

func (s *Spec) unmet(m *C.gb_plan_missed, wanted, have *Plan) string {
	source := func(field string, own bool) string {
		if own || s.Preset == nil {
			return field
		}
		return message.Format("preset %q", s.Preset.Name)
	}
	switch m.what {
	case C.GB_PLAN_MISSES_DEVICE:
		return message.Format("%s: wanted memory on %s, found it on %s",
			source("device", s.Device != AnyDevice), wanted.where(), have.where())
	case C.GB_PLAN_MISSES_MEMORY:
		return message.Format("%s: wanted %s memory, found %s", source("memory", s.Memory != Plain),
			wanted.memory, have.memory)
	case C.GB_PLAN_MISSES_ORDER:
		return source("layout", s.Layout != nil) + " orders the strides otherwise"
	case C.GB_PLAN_MISSES_ROWS:
		return message.Format("%s puts rows on multiples of %d bytes",
			source("padding", s.Padding != PadAsPreset), int64(m.boundary))
	case C.GB_PLAN_MISSES_PACKED:
		return "padding leaves no room between rows"
	}
	return message.Format("%s: element %v must lie on a boundary of %d bytes, and it lies %d "+
		"bytes after one",
		source("alignment", s.ByteAlignment != 0), wanted.alignedIndex, int64(m.boundary),
		int64(m.after))
}

// where is a device in words.
func (p *Plan) where() string {
	if p.device == GPU {
		return message.Format("gpu %d", p.deviceID)
	}
	return p.device.String()
}
