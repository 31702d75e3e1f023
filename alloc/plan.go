package alloc

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"gridbuf/internal/message"
)

// Plan is the answer to a Spec: everything that can be known without memory.
// It never changes: what it tells of lists are copies.
type Plan struct {
	shape         []int64
	strides       []int64 // bytes
	paddedShape   []int64
	alignedIndex  []int64
	layout        []int32 // rank of each index's stride, 0 = largest
	dims          []Dim
	itemSize      int64
	byteAlignment int64 // the boundary the aligned element sits on, bytes
	offset        int64 // address of element 0 modulo ByteAlignment
	size          int64 // elements
	bytes         int64 // of the elements alone
	span          int64 // of the elements and their padding
	reserve       int64 // what a block for this plan reserves
	device        Device
	deviceID      int
	memory        Memory
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
		shape: ints[:n:n], strides: ints[n : 2*n : 2*n], paddedShape: ints[2*n : 3*n : 3*n], alignedIndex: ints[3*n:],
		layout: make([]int32, n), dims: make([]Dim, n),
	}
	if err := p.fill(s); err != nil {
		return nil, err
	}
	p.reserve = reserved(p.span, p.byteAlignment)
	return p, nil
}

// fill fills in a plan whose lists have room; they may lie in C memory.
func (p *Plan) fill(s *Spec) error {
	if len(s.Shape) > MaxDims {
		return ErrInvalid.Errorf("shape: %d dimensions; at most %d are allowed", len(s.Shape), int(MaxDims))
	}
	if p := s.Preset; p != nil && p.Order == ByName && !namesAll(p.Axes, "IJK") {
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
	copy(p.shape, s.Shape)
	p.itemSize, p.memory, p.deviceID = s.ItemSize, s.Memory, s.DeviceID
	p.device = cmp.Or(s.Device, s.preset().Device, CPU)
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
	if p.memory == Pinned { // it is laid out as the preset's device wants it, but lies on the host
		p.device, p.deviceID = CPU, 0
	}
	return nil
}

// setDims names the indices; those of a sub-shape dtype become data dimensions,
// numbered on from the ones present.
func (p *Plan) setDims(s *Spec) error {
	base := p.dims[:len(s.Shape)-s.SubShape]
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
	for i := range p.dims[len(base):] {
		p.dims[len(base)+i] = next + Dim(i)
	}
	return checkDims(p.dims)
}

// setLayout ranks the strides. A layout given without the indices of a sub-shape
// dtype puts those slowest, where the presets put data dimensions.
func (p *Plan) setLayout(s *Spec) error {
	if s.Layout == nil {
		s.preset().layout(p.dims, p.layout)
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
		p.layout[i] = r + int32(slower)
	}
	for i := range slower {
		p.layout[given+i] = int32(i)
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
	copy(p.alignedIndex, s.AlignedIndex)
	return nil
}

// setStrides pads the fastest index and accumulates strides, fastest first.
func (p *Plan) setStrides(s *Spec) error {
	if err := p.setBoundary(s); err != nil {
		return err
	}
	row := p.rowItems(s)
	p.size, p.span = 1, p.itemSize
	var byRank [MaxDims]int
	for i, r := range p.layout {
		byRank[r] = i
	}
	for rank := len(p.shape) - 1; rank >= 0; rank-- {
		i := byRank[rank]
		n := p.shape[i]
		if n < 0 {
			return ErrInvalid.Errorf("shape: %v has a negative entry; sizes are 0 or more", s.Shape)
		}
		p.paddedShape[i] = n
		if rank == len(p.shape)-1 && row > 1 {
			if n > math.MaxInt64-row {
				return tooBig(s)
			}
			p.paddedShape[i] = roundUp(n, row)
		}
		p.strides[i] = p.span
		var ok1, ok2 bool
		p.span, ok1 = multiply(p.span, max(p.paddedShape[i], 1))
		p.size, ok2 = multiply(p.size, max(n, 1))
		if !ok1 || !ok2 {
			return tooBig(s)
		}
	}
	if slices.Contains(p.shape, 0) { // nothing is read or written, however far the strides reach
		p.size, p.span = 0, 0
	}
	if p.span > math.MaxInt64/2-2*maxBoundary {
		return tooBig(s)
	}
	p.bytes = p.size * p.itemSize
	return nil
}

// setBoundary finds what the aligned element sits on: the byte alignment, raised
// to a common multiple with the preset's alignment where that is more than one item.
func (p *Plan) setBoundary(s *Spec) error {
	p.byteAlignment = s.ByteAlignment
	if s.ByteAlignment == 0 {
		p.byteAlignment = 64
		if p.device == GPU {
			p.byteAlignment = 256
		}
	}
	if p.byteAlignment < 1 || p.byteAlignment&(p.byteAlignment-1) != 0 || p.byteAlignment > maxByteAlignment {
		return ErrInvalid.Errorf("byte_alignment: %d is not allowed; give a power of two from 1 to %d (bytes)", s.ByteAlignment, int64(maxByteAlignment))
	}
	if s.Alignment < 0 || s.Alignment > maxAlignment {
		return ErrInvalid.Errorf("alignment: %d items is not in the allowed range 1 to %d", s.Alignment, int64(maxAlignment))
	}
	if s.Padding < PadToBoundary {
		return ErrInvalid.Errorf("padding: %d items is not allowed; give a number of items or one of the named values", s.Padding)
	}
	if a := s.alignment(); a > 1 {
		item := max(p.itemSize, 1)
		if item > maxBoundary/a {
			return ErrInvalid.Errorf("dtype: an alignment of %d items of %d bytes is more than the largest boundary, %d bytes", a, item, int64(maxBoundary))
		}
		unit := a * item
		boundary, ok := multiply(unit/gcd(unit, p.byteAlignment), p.byteAlignment)
		if !ok || boundary > maxBoundary {
			return ErrInvalid.Errorf("byte_alignment: %d and an alignment of %d bytes meet only beyond the largest boundary, %d bytes", p.byteAlignment, unit, int64(maxBoundary))
		}
		p.byteAlignment = boundary
	}
	return nil
}

// rowItems is what the fastest index is rounded up to, in items.
func (p *Plan) rowItems(s *Spec) int64 {
	switch {
	case s.Padding == PadAsPreset:
		return s.alignment()
	case s.Padding == PadToBoundary:
		return p.byteAlignment / gcd(p.byteAlignment, max(p.itemSize, 1))
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
	if p.memory != Plain {
		device += ", " + p.memory.String()
	}
	return message.Format("Plan(%s %v of %d bytes, strides=%v, aligned_index=%v, byte_alignment=%d, %d bytes reserved, %s)",
		DimsString(p.dims), p.shape, p.itemSize, p.strides, p.alignedIndex, p.byteAlignment, p.reserve, device)
}

// setOffset places element 0 so that the aligned element is on the boundary.
func (p *Plan) setOffset() {
	b := uint64(p.byteAlignment)
	var distance uint64
	for i, a := range p.alignedIndex {
		hi, lo := bits.Mul64(uint64(a)%b, uint64(p.strides[i])%b)
		distance = (distance + bits.Rem64(hi, lo, b)) % b
	}
	p.offset = int64((b - distance) % b)
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
