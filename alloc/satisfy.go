package alloc

import (
	"math"
	"math/bits"
	"slices"

	"gridbuf/internal/message"
)

// Unmet says what memory misses of a Spec. A copy in a new [Buffer] of the wanted Plan has it.
type Unmet struct {
	What   string // the field of Spec that is missed first, and how
	Wanted *Plan
	Found  []int64 // strides, in bytes
}

func (e *Unmet) Error() string {
	return message.Format("%s; strides: wanted %v for dims %s, found %v", e.What, e.Wanted.strides, DimsString(e.Wanted.dims), e.Found)
}

// Unwrap gives [ErrInvalid], for errors.Is.
func (e *Unmet) Unwrap() error { return ErrInvalid }

// Satisfies says whether memory is as a Spec wants it, so that it may be shared instead of copied: nil, an *[Unmet] that names
// the first requirement missed, or what is wrong with the Spec. The memory is what [Describe] says of it, of the Spec's shape
// and items, with element 0 at address.
//
// Only what the Spec asks for counts. A preset asks for the order of its strides, for unit stride where it is smallest, and for
// its own alignment; strides may be larger than a plan's, as those of a slice are.
func Satisfies(s *Spec, have *Plan, address uintptr) error {
	wanted, err := NewPlan(s)
	if err != nil {
		return err
	}
	if have == nil || !slices.Equal(have.shape, s.Shape) || have.itemSize != s.ItemSize {
		return ErrInvalid.Errorf("have: it must describe memory of shape %v with items of %d bytes", s.Shape, s.ItemSize)
	}
	if what := s.missed(wanted, have, address); what != "" {
		return &Unmet{What: what, Wanted: wanted, Found: slices.Clone(have.strides)}
	}
	return nil
}

// missed names the first requirement that memory misses, and how. An index of one element has no say in any of this: nobody takes
// a step along it.
func (s *Spec) missed(wanted, have *Plan, address uintptr) string {
	source := func(field string, own bool) string {
		if own || s.Preset == nil {
			return field
		}
		return message.Format("preset %q", s.Preset.Name)
	}
	if (s.Device != AnyDevice || s.Preset != nil) && (wanted.device != have.device || wanted.deviceID != have.deviceID) {
		return message.Format("%s: wanted memory on %s, found it on %s", source("device", s.Device != AnyDevice), wanted.where(), have.where())
	}
	if (s.Memory != Plain || s.Preset != nil) && wanted.memory != have.memory {
		return message.Format("%s: wanted %s memory, found %s", source("memory", s.Memory != Plain), wanted.memory, have.memory)
	}
	long, rows := wanted.longIndices(), s.rowBoundary(wanted)
	switch {
	case slices.Equal(have.strides, wanted.strides):
	case (s.Layout != nil || s.Preset != nil) && have.size != 0 && !have.ordered(long):
		return source("layout", s.Layout != nil) + " orders the strides otherwise"
	case have.size != 0 && slices.ContainsFunc(long[:max(len(long)-1, 0)], func(i int) bool { return have.strides[i]%rows != 0 }):
		return message.Format("%s puts rows on multiples of %d bytes", source("padding", s.Padding != PadAsPreset), rows)
	case s.Padding == PadNone && slices.ContainsFunc(long, func(i int) bool { return have.strides[i] != wanted.strides[i] }):
		return "padding leaves no room between rows"
	}
	if s.ByteAlignment == 0 && s.Preset == nil && s.AlignedIndex == nil {
		return ""
	}
	boundary := wanted.byteAlignment
	if s.Preset != nil && s.ByteAlignment == 0 {
		boundary = s.ownBoundary()
	}
	if after := have.afterBoundary(wanted.alignedIndex, address, boundary); after != 0 {
		return message.Format("%s: element %v must lie on a boundary of %d bytes, and it lies %d bytes after one",
			source("alignment", s.ByteAlignment != 0), wanted.alignedIndex, boundary, after)
	}
	return ""
}

// longIndices are those of more than one element, slowest first.
func (p *Plan) longIndices() []int {
	var long []int
	for i, n := range p.shape {
		if n > 1 {
			long = append(long, i)
		}
	}
	slices.SortFunc(long, func(a, b int) int { return int(p.layout[a]) - int(p.layout[b]) })
	return long
}

// ordered says whether strides fall in the order of these indices, each over all of the next, down to the item size.
func (p *Plan) ordered(long []int) bool {
	for k, i := range long {
		if k == len(long)-1 {
			return p.strides[i] == p.itemSize
		}
		next := long[k+1]
		if reach, ok := multiply(p.shape[next], max(p.strides[next], 0)); !ok || p.strides[i] < reach {
			return false
		}
	}
	return true
}

// ownBoundary is what the preset, or an alignment in items, asks for by itself, in bytes.
func (s *Spec) ownBoundary() int64 {
	if items := s.alignment(); items > 1 {
		return items * max(s.ItemSize, 1)
	}
	return 1
}

// rowBoundary is what rows must begin at multiples of, in bytes.
func (s *Spec) rowBoundary(wanted *Plan) int64 {
	switch {
	case s.Padding == PadToBoundary:
		return wanted.byteAlignment
	case s.Padding == PadNone:
		return 1
	case s.Padding == PadAsPreset:
		return s.ownBoundary()
	}
	if boundary, ok := multiply(s.Padding, max(s.ItemSize, 1)); ok {
		return boundary
	}
	return math.MaxInt64
}

// afterBoundary is how many bytes after a boundary an element lies.
func (p *Plan) afterBoundary(index []int64, address uintptr, boundary int64) int64 {
	if p.size == 0 {
		return 0
	}
	b := uint64(boundary)
	after := uint64(address) % b
	for i, at := range index {
		hi, lo := bits.Mul64(uint64(at)%b, uint64((p.strides[i]%boundary+boundary)%boundary))
		after = (after + bits.Rem64(hi, lo, b)) % b
	}
	return int64(after)
}

// where is a device in words.
func (p *Plan) where() string {
	if p.device == GPU {
		return message.Format("gpu %d", p.deviceID)
	}
	return p.device.String()
}
