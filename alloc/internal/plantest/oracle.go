// Package plantest is the oracle of alloc's planner: the same rules as a second, readable text in
// Go, written before the one in C (alloc/plan.c, describe.c). Tests hold both equal, refusals to
// the letter.
package plantest

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"

	"gridbuf/alloc"
	"gridbuf/internal/message"
)

// Limits of a request (alloc/numbers.h).
const (
	maxAlignment     = 1 << 24
	maxByteAlignment = 1 << 30
	maxBoundary      = 1 << 40
)

// Answer has the figures of an [alloc.Plan] but for the bytes that are reserved.
type Answer struct {
	Shape, Strides, PaddedShape, AlignedIndex          []int64
	Layout                                             []int32
	Dims                                               []alloc.Dim
	ItemSize, ByteAlignment, Offset, Size, Bytes, Span int64
	Device                                             alloc.Device
	DeviceID                                           int
	Memory                                             alloc.Memory
}

func newAnswer(n int) *Answer {
	return &Answer{
		Shape: make([]int64, n), Strides: make([]int64, n), PaddedShape: make([]int64, n),
		AlignedIndex: make([]int64, n), Layout: make([]int32, n), Dims: make([]alloc.Dim, n),
	}
}

// Of takes the figures of a plan; nil of nil.
func Of(p *alloc.Plan) *Answer {
	if p == nil {
		return nil
	}
	return &Answer{
		p.Shape(), p.Strides(), p.PaddedShape(), p.AlignedIndex(), p.Layout(), p.Dims(),
		p.ItemSize(), p.ByteAlignment(), p.Offset(), p.Size(), p.Bytes(), p.Span(),
		p.Device(), p.DeviceID(), p.Memory(),
	}
}

// NewPlan works a request out. The rule is that of GT4Py's proposal "Allocation and Array
// Interfaces": rows are padded to the alignment, and the aligned element sits on the boundary.
func NewPlan(s *alloc.Spec) (*Answer, error) {
	p := newAnswer(len(s.Shape))
	if err := p.fill(s); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Answer) fill(s *alloc.Spec) error {
	if len(s.Shape) > alloc.MaxDims {
		return alloc.ErrInvalid.Errorf("shape: %d dimensions; at most %d are allowed", len(s.Shape),
			int(alloc.MaxDims))
	}
	if p := s.Preset; p != nil && p.Order == alloc.ByName && !namesAll(p.Axes, "IJK") {
		return alloc.ErrInvalid.Errorf("layout: %q does not order the axes; give I, J and K once "+
			"each, slowest first, such as \"KJI\"", p.Axes)
	}
	if s.SubShape < 0 || s.SubShape > len(s.Shape) {
		return alloc.ErrInvalid.Errorf("dtype: a sub-shape of %d indices in a shape of %d",
			s.SubShape, len(s.Shape))
	}
	if s.ItemSize < 0 {
		return alloc.ErrInvalid.Errorf("dtype: items of %d bytes", s.ItemSize)
	}
	if s.Device < alloc.AnyDevice || s.Device > alloc.GPU {
		return alloc.ErrInvalid.Errorf("device: %d is not known", int32(s.Device))
	}
	if s.Memory < alloc.Plain || s.Memory > alloc.Managed {
		return alloc.ErrInvalid.Errorf("memory: %d is not known", int32(s.Memory))
	}
	copy(p.Shape, s.Shape)
	p.ItemSize, p.Memory, p.DeviceID = s.ItemSize, s.Memory, s.DeviceID
	p.Device = cmp.Or(s.Device, preset(s).Device, alloc.CPU)
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
	// pinned memory is laid out for the preset's device, and lies on the host
	if p.Memory == alloc.Pinned {
		p.Device, p.DeviceID = alloc.CPU, 0
	}
	return nil
}

// setDims names the indices; those of a sub-shape dtype become data dimensions,
// numbered on from the ones present.
func (p *Answer) setDims(s *alloc.Spec) error {
	base := p.Dims[:len(s.Shape)-s.SubShape]
	if s.Dims == nil {
		for i := range base {
			base[i] = alloc.I + alloc.Dim(i)
		}
	} else if len(s.Dims) != len(base) {
		return alloc.ErrInvalid.Errorf("dimensions: %d given for a shape of %d indices %v; they "+
			"must be as many", len(s.Dims), len(base), s.Shape[:len(base)])
	}
	copy(base, s.Dims)
	next := alloc.Dim(0)
	for _, d := range base {
		if d < alloc.Named {
			next = max(next, d+1)
		}
	}
	for i := range p.Dims[len(base):] {
		p.Dims[len(base)+i] = next + alloc.Dim(i)
	}
	return check(p.Dims)
}

// setLayout ranks the strides. A layout given without the indices of a sub-shape
// dtype puts those slowest, where the presets put data dimensions.
func (p *Answer) setLayout(s *alloc.Spec) error {
	if s.Layout == nil {
		rank(preset(s), p.Dims, p.Layout)
		return nil
	}
	given, slower := len(s.Layout), 0
	if given == len(s.Shape)-s.SubShape {
		slower = s.SubShape
	} else if given != len(s.Shape) {
		return alloc.ErrInvalid.Errorf("layout: %v has %d entries for %d indices; give one rank "+
			"for each", s.Layout, given, len(s.Shape))
	}
	var seen uint64
	for i, r := range s.Layout {
		if r < 0 || int(r) >= given || seen&(1<<r) != 0 {
			return alloc.ErrInvalid.Errorf("layout: %v is not a permutation of 0 to %d (0 = "+
				"largest stride)", s.Layout, given-1)
		}
		seen |= 1 << r
		p.Layout[i] = r + int32(slower)
	}
	for i := range slower {
		p.Layout[given+i] = int32(i)
	}
	return nil
}

func (p *Answer) setAlignedIndex(s *alloc.Spec) error {
	if s.AlignedIndex == nil {
		return nil
	}
	if n := len(s.Shape) - s.SubShape; len(s.AlignedIndex) != n {
		return alloc.ErrInvalid.Errorf("aligned_index: %v has %d entries for %d indices; give one "+
			"for each", s.AlignedIndex, len(s.AlignedIndex), n)
	}
	for _, a := range s.AlignedIndex {
		if a < 0 {
			return alloc.ErrInvalid.Errorf("aligned_index: %v has a negative entry; entries count "+
				"elements from 0", s.AlignedIndex)
		}
	}
	copy(p.AlignedIndex, s.AlignedIndex)
	return nil
}

// setStrides pads the fastest index and accumulates strides, fastest first.
func (p *Answer) setStrides(s *alloc.Spec) error {
	if err := p.setBoundary(s); err != nil {
		return err
	}
	row := p.rowItems(s)
	p.Size, p.Span = 1, p.ItemSize
	var byRank [alloc.MaxDims]int
	for i, r := range p.Layout {
		byRank[r] = i
	}
	for rank := len(p.Shape) - 1; rank >= 0; rank-- {
		i := byRank[rank]
		n := p.Shape[i]
		if n < 0 {
			return alloc.ErrInvalid.Errorf("shape: %v has a negative entry; sizes are 0 or more",
				s.Shape)
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
func (p *Answer) setBoundary(s *alloc.Spec) error {
	p.ByteAlignment = s.ByteAlignment
	if s.ByteAlignment == 0 {
		p.ByteAlignment = 64
		if p.Device == alloc.GPU {
			p.ByteAlignment = 256
		}
	}
	if p.ByteAlignment < 1 || p.ByteAlignment&(p.ByteAlignment-1) != 0 ||
		p.ByteAlignment > maxByteAlignment {
		return alloc.ErrInvalid.Errorf("byte_alignment: %d is not allowed; give a power of two "+
			"from 1 to %d (bytes)", s.ByteAlignment, int64(maxByteAlignment))
	}
	if s.Alignment < 0 || s.Alignment > maxAlignment {
		return alloc.ErrInvalid.Errorf("alignment: %d items is not in the allowed range 1 to %d",
			s.Alignment, int64(maxAlignment))
	}
	if s.Padding < alloc.PadToBoundary {
		return alloc.ErrInvalid.Errorf("padding: %d items is not allowed; give a number of items "+
			"or one of the named values", s.Padding)
	}
	if a := alignment(s); a > 1 {
		item := max(p.ItemSize, 1)
		if item > maxBoundary/a {
			return alloc.ErrInvalid.Errorf("dtype: an alignment of %d items of %d bytes is more "+
				"than the largest boundary, %d bytes", a, item, int64(maxBoundary))
		}
		unit := a * item
		boundary, ok := multiply(unit/gcd(unit, p.ByteAlignment), p.ByteAlignment)
		if !ok || boundary > maxBoundary {
			return alloc.ErrInvalid.Errorf("byte_alignment: %d and an alignment of %d bytes meet "+
				"only beyond the largest boundary, %d bytes", p.ByteAlignment, unit,
				int64(maxBoundary))
		}
		p.ByteAlignment = boundary
	}
	return nil
}

// rowItems is what the fastest index is rounded up to, in items.
func (p *Answer) rowItems(s *alloc.Spec) int64 {
	switch s.Padding {
	case alloc.PadAsPreset:
		return alignment(s)
	case alloc.PadToBoundary:
		return p.ByteAlignment / gcd(p.ByteAlignment, max(p.ItemSize, 1))
	}
	return s.Padding
}

func alignment(s *alloc.Spec) int64 {
	if s.Alignment > 0 {
		return s.Alignment
	}
	return preset(s).Alignment
}

func preset(s *alloc.Spec) *alloc.Preset {
	if s.Preset == nil {
		return &alloc.Preset{Name: "C", Order: alloc.ByIndex, Alignment: 1, Device: alloc.CPU}
	}
	return s.Preset
}

// setOffset places element 0 so that the aligned element is on the boundary.
func (p *Answer) setOffset() {
	b := uint64(p.ByteAlignment)
	var distance uint64
	for i, a := range p.AlignedIndex {
		hi, lo := bits.Mul64(uint64(a)%b, uint64(p.Strides[i])%b)
		distance = (distance + bits.Rem64(hi, lo, b)) % b
	}
	p.Offset = int64((b - distance) % b)
}

func tooBig(s *alloc.Spec) error {
	return alloc.ErrInvalid.Errorf("shape: %v of %d-byte items is larger than any memory (2^63 "+
		"bytes)", s.Shape, s.ItemSize)
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

// rank fills out[i] with the rank of index i's stride, 0 = largest.
func rank(p *alloc.Preset, dims []alloc.Dim, out []int32) {
	for i, d := range dims {
		switch p.Order {
		case alloc.ByIndexReversed:
			out[i] = int32(len(dims) - 1 - i)
		case alloc.ByName:
			out[i] = 0
			for k, e := range dims {
				a, b := slowness(p, e), slowness(p, d)
				if a < b || a == b && k < i {
					out[i]++
				}
			}
		default:
			out[i] = int32(i)
		}
	}
}

// slowness orders dimensions within a layout: data dimensions are the slowest,
// 0 before 1, then names of the user's own as they come, then the cartesian axes
// as the preset names them.
func slowness(p *alloc.Preset, d alloc.Dim) int64 {
	if d >= alloc.Named {
		return int64(alloc.Named)
	}
	if d.IsData() {
		return int64(d)
	}
	return 1<<32 + int64(strings.Index(p.Axes, d.String()))
}

// namesAll says whether s has every one of the letters once, and no other.
func namesAll(s, letters string) bool {
	return len(s) == len(letters) && !strings.ContainsFunc(letters,
		func(c rune) bool { return !strings.ContainsRune(s, c) })
}

func check(dims []alloc.Dim) error {
	for i, d := range dims {
		if d < alloc.I {
			return alloc.ErrInvalid.Errorf("dimensions: %d is not the code of a dimension",
				int32(d))
		}
		if slices.Contains(dims[:i], d) {
			return alloc.ErrInvalid.Errorf("dimensions: %s appears twice in %v; every dimension "+
				"may appear once", d, message.List(dims))
		}
	}
	return nil
}

// Describe reads a plan back from memory that exists, as alloc.Describe does; dims must be given.
func Describe(
	shape, strides []int64, dims []alloc.Dim, itemSize int64, addr uintptr,
) (*Answer, error) {
	n := len(shape)
	if n > alloc.MaxDims {
		return nil, alloc.ErrInvalid.Errorf("shape: %d dimensions; at most %d are allowed",
			n, int(alloc.MaxDims))
	}
	p := newAnswer(n)
	copy(p.Shape, shape)
	copy(p.Strides, strides)
	copy(p.Dims, dims)
	p.ItemSize, p.Size, p.Device = itemSize, 1, alloc.CPU
	p.ByteAlignment = 4096
	if addr != 0 {
		p.ByteAlignment = min(4096, int64(1)<<min(bits.TrailingZeros64(uint64(addr)), 12))
	}
	for _, d := range shape {
		var ok bool
		if p.Size, ok = multiply(p.Size, d); !ok {
			return nil, alloc.ErrInvalid.Errorf("shape: %v has more elements than 2^63", shape)
		}
	}
	p.Bytes = p.Size * itemSize
	p.rankStrides()
	p.Span = p.reaches()
	return p, nil
}

// rankStrides sorts indices by stride, ties by position as in C order, and reads
// the padding off the distance between rows.
func (p *Answer) rankStrides() {
	order := make([]int, len(p.Shape))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(abs(p.Strides[b]),
			abs(p.Strides[a]))
	})
	for rank, i := range order {
		p.Layout[i] = int32(rank)
	}
	for rank, i := range order {
		p.PaddedShape[i] = p.Shape[i]
		if rank > 0 && p.Strides[i] != 0 {
			if per := abs(p.Strides[order[rank-1]]) / abs(p.Strides[i]); per > p.Shape[i] &&
				p.Shape[order[rank-1]] > 1 {
				p.PaddedShape[i] = per
			}
		}
	}
}

// reaches is how many bytes there are from the first element to the last.
func (p *Answer) reaches() int64 {
	bytes := p.ItemSize
	for i, n := range p.Shape {
		if n == 0 {
			return 0
		}
		bytes += (n - 1) * abs(p.Strides[i])
	}
	return bytes
}

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}
