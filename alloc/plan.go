package alloc

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Plan is the answer to a Spec: everything that can be known without memory.
// It is immutable; the slices must not be written to.
type Plan struct {
	Shape         []int64
	Strides       []int64 // bytes
	PaddedShape   []int64
	AlignedIndex  []int64
	Layout        []int32 // rank of each index's stride, 0 = largest
	Dims          []Dim
	ItemSize      int64
	ByteAlignment int64 // the boundary the aligned element sits on, bytes
	Offset        int64 // address of element 0 modulo ByteAlignment
	Size          int64 // elements
	Bytes         int64 // of the elements alone
	Span          int64 // of the elements and their padding
	AllocBytes    int64 // what a block for this plan reserves
	Device        Device
	DeviceID      int
	Memory        Memory
}

// NewPlan works out a request. The rule is that of GT4Py's
// proposal "Allocation and Array Interfaces": rows are padded to the alignment, and the aligned element sits on
// the boundary.
func NewPlan(s *Spec) (*Plan, error) {
	if s == nil {
		return nil, ErrInvalid.Errorf("spec: it is nil; give the address of a Spec")
	}
	n := len(s.Shape)
	ints := make([]int64, 4*n)
	p := &Plan{
		Shape: ints[:n:n], Strides: ints[n : 2*n : 2*n], PaddedShape: ints[2*n : 3*n : 3*n], AlignedIndex: ints[3*n:],
		Layout: make([]int32, n), Dims: make([]Dim, n),
	}
	if err := p.answer(s); err != nil {
		return nil, err
	}
	p.AllocBytes = reserved(p.Span, p.ByteAlignment)
	return p, nil
}

// answer fills in a plan whose lists have room; they may lie in C memory.
func (p *Plan) answer(s *Spec) error {
	if len(s.Shape) > MaxDims {
		return ErrInvalid.Errorf("shape: %d dimensions; at most %d are allowed", len(s.Shape), MaxDims)
	}
	if p := s.Preset; p != nil && p.Order == ByName && sortedLetters(p.Axes) != "IJK" {
		return ErrInvalid.Errorf("layout: %q does not order the axes; give I, J and K once each, slowest first, such as \"KJI\"", p.Axes)
	}
	if s.SubShape < 0 || s.SubShape > len(s.Shape) {
		return ErrInvalid.Errorf("dtype: a sub-shape of %d indices in a shape of %d", s.SubShape, len(s.Shape))
	}
	if s.ItemSize < 0 {
		return ErrInvalid.Errorf("dtype: items of %d bytes", s.ItemSize)
	}
	if s.Device < AnyDevice || s.Device > GPU {
		return ErrInvalid.Errorf("device: %d is not known", int32(s.Device))
	}
	if s.Memory < Plain || s.Memory > Managed {
		return ErrInvalid.Errorf("memory: %d is not known", int32(s.Memory))
	}
	copy(p.Shape, s.Shape)
	p.ItemSize, p.Memory, p.DeviceID = s.ItemSize, s.Memory, s.DeviceID
	p.Device = cmp.Or(s.Device, s.preset().Device, CPU)
	if err := p.setDims(s); err != nil {
		return err
	}
	if err := p.setLayout(s); err != nil {
		return err
	}
	if err := p.setAlignedIndex(s); err != nil {
		return err
	}
	if err := p.setStrides(s); err != nil {
		return err
	}
	p.setOffset()
	if p.Memory == Pinned { // it is laid out as the preset's device wants it, but lies on the host
		p.Device, p.DeviceID = CPU, 0
	}
	return nil
}

// setDims names the indices; those of a sub-shape dtype become data dimensions,
// numbered on from the ones present.
func (p *Plan) setDims(s *Spec) error {
	base := p.Dims[:len(s.Shape)-s.SubShape]
	if s.Dims == nil {
		for i := range base {
			base[i] = I + Dim(i)
		}
	} else if len(s.Dims) != len(base) {
		return ErrInvalid.Errorf("dimensions: %d given for a shape of %d indices %v; they must be as many", len(s.Dims), len(base), s.Shape[:len(base)])
	}
	copy(base, s.Dims)
	next := Dim(0)
	for _, d := range base {
		next = max(next, d+1)
	}
	for i := range p.Dims[len(base):] {
		p.Dims[len(base)+i] = next + Dim(i)
	}
	return checkDims(p.Dims)
}

// setLayout ranks the strides. A layout given without the indices of a sub-shape
// dtype puts those slowest, where the presets put data dimensions.
func (p *Plan) setLayout(s *Spec) error {
	if s.Layout == nil {
		s.preset().layout(p.Dims, p.Layout)
		return nil
	}
	given, slower := len(s.Layout), 0
	if given == len(s.Shape)-s.SubShape {
		slower = s.SubShape
	} else if given != len(s.Shape) {
		return ErrInvalid.Errorf("layout: %v has %d entries for %d indices; give one rank for each", s.Layout, given, len(s.Shape))
	}
	var seen uint64
	for i, r := range s.Layout {
		if r < 0 || int(r) >= given || seen&(1<<r) != 0 {
			return ErrInvalid.Errorf("layout: %v is not a permutation of 0 to %d (0 = largest stride)", s.Layout, given-1)
		}
		seen |= 1 << r
		p.Layout[i] = r + int32(slower)
	}
	for i := range slower {
		p.Layout[given+i] = int32(i)
	}
	return nil
}

func (p *Plan) setAlignedIndex(s *Spec) error {
	if s.AlignedIndex == nil {
		return nil
	}
	if n := len(s.Shape) - s.SubShape; len(s.AlignedIndex) != n {
		return ErrInvalid.Errorf("aligned_index: %v has %d entries for %d indices; give one for each", s.AlignedIndex, len(s.AlignedIndex), n)
	}
	for _, a := range s.AlignedIndex {
		if a < 0 {
			return ErrInvalid.Errorf("aligned_index: %v has a negative entry; entries count elements from 0", s.AlignedIndex)
		}
	}
	copy(p.AlignedIndex, s.AlignedIndex)
	return nil
}

// setStrides pads the fastest index and accumulates strides, fastest first.
func (p *Plan) setStrides(s *Spec) error {
	if err := p.setBoundary(s); err != nil {
		return err
	}
	row := p.rowItems(s)
	p.Size, p.Span = 1, p.ItemSize
	var byRank [MaxDims]int
	for i, r := range p.Layout {
		byRank[r] = i
	}
	for rank := len(p.Shape) - 1; rank >= 0; rank-- {
		i := byRank[rank]
		n := p.Shape[i]
		if n < 0 {
			return ErrInvalid.Errorf("shape: %v has a negative entry; sizes are 0 or more", s.Shape)
		}
		p.PaddedShape[i] = n
		if rank == len(p.Shape)-1 && row > 1 {
			if n > math.MaxInt64-row {
				return tooBig(s)
			}
			p.PaddedShape[i] = roundUp(n, row)
		}
		p.Strides[i] = p.Span
		var ok1, ok2 bool
		p.Span, ok1 = multiply(p.Span, max(p.PaddedShape[i], 1))
		p.Size, ok2 = multiply(p.Size, max(n, 1))
		if !ok1 || !ok2 {
			return tooBig(s)
		}
	}
	if slices.Contains(p.Shape, 0) { // nothing is read or written, however far the strides reach
		p.Size, p.Span = 0, 0
	}
	if p.Span > math.MaxInt64/2-2*maxBoundary {
		return tooBig(s)
	}
	p.Bytes = p.Size * p.ItemSize
	return nil
}

// setBoundary finds what the aligned element sits on: the byte alignment, raised
// to a common multiple with the preset's alignment where that is more than one item.
func (p *Plan) setBoundary(s *Spec) error {
	p.ByteAlignment = s.ByteAlignment
	if s.ByteAlignment == 0 {
		p.ByteAlignment = 64
		if p.Device == GPU {
			p.ByteAlignment = 256
		}
	}
	if p.ByteAlignment < 1 || p.ByteAlignment&(p.ByteAlignment-1) != 0 || p.ByteAlignment > maxByteAlignment {
		return ErrInvalid.Errorf("byte_alignment: %d is not allowed; give a power of two from 1 to %d (bytes)", s.ByteAlignment, int64(maxByteAlignment))
	}
	if s.Alignment < 0 || s.Alignment > maxAlignment {
		return ErrInvalid.Errorf("alignment: %d items is not in the allowed range 1 to %d", s.Alignment, int64(maxAlignment))
	}
	if s.Padding < PadToBoundary {
		return ErrInvalid.Errorf("padding: %d items is not allowed; give a number of items or one of the named values", s.Padding)
	}
	if a := s.alignment(); a > 1 {
		item := max(p.ItemSize, 1)
		if item > maxBoundary/a {
			return ErrInvalid.Errorf("dtype: an alignment of %d items of %d bytes is more than the largest boundary, %d bytes", a, item, int64(maxBoundary))
		}
		unit := a * item
		boundary, ok := multiply(unit/gcd(unit, p.ByteAlignment), p.ByteAlignment)
		if !ok || boundary > maxBoundary {
			return ErrInvalid.Errorf("byte_alignment: %d and an alignment of %d bytes meet only beyond the largest boundary, %d bytes", p.ByteAlignment, unit, int64(maxBoundary))
		}
		p.ByteAlignment = boundary
	}
	return nil
}

// rowItems is what the fastest index is rounded up to, in items.
func (p *Plan) rowItems(s *Spec) int64 {
	switch {
	case s.Padding == PadAsPreset:
		return s.alignment()
	case s.Padding == PadToBoundary:
		return p.ByteAlignment / gcd(p.ByteAlignment, max(p.ItemSize, 1))
	}
	return s.Padding
}

func (s *Spec) alignment() int64 {
	if s.Alignment > 0 {
		return s.Alignment
	}
	return s.preset().Alignment
}

func (s *Spec) preset() *Preset {
	if s.Preset == nil {
		return &standard
	}
	return s.Preset
}

// String is one line: dims, shape, item size, strides, what is aligned and how much is reserved.
func (p *Plan) String() string {
	device := p.where()
	if p.Memory != Plain {
		device += ", " + p.Memory.String()
	}
	return fmt.Sprintf("Plan(%s %v of %d bytes, strides=%v, aligned_index=%v, byte_alignment=%d, %d bytes reserved, %s)",
		DimsString(p.Dims), p.Shape, p.ItemSize, p.Strides, p.AlignedIndex, p.ByteAlignment, p.AllocBytes, device)
}

// setOffset places element 0 so that the aligned element is on the boundary.
func (p *Plan) setOffset() {
	b := uint64(p.ByteAlignment)
	var distance uint64
	for i, a := range p.AlignedIndex {
		hi, lo := bits.Mul64(uint64(a)%b, uint64(p.Strides[i])%b)
		distance = (distance + bits.Rem64(hi, lo, b)) % b
	}
	p.Offset = int64((b - distance) % b)
}

func tooBig(s *Spec) error {
	return ErrInvalid.Errorf("shape: %v of %d-byte items is larger than any memory (2^63 bytes)", s.Shape, s.ItemSize)
}

func multiply(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi == 0 && lo <= math.MaxInt64
}

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
