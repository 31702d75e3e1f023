package alloc

import (
	"math/bits"
	"sort"
)

// Describe reads a plan back from memory that already exists: any strides, at
// address addr. The aligned index is zeros and the byte alignment the largest
// power of two, up to 4096, that divides addr; what is reserved is taken to be
// the extent of the elements.
func Describe(shape, strides []int64, dims []Dim, itemSize int64, addr uintptr) (*Plan, error) {
	n := len(shape)
	if n > MaxDims {
		return nil, ErrInvalid.Errorf("shape: %d dimensions; at most %d are allowed", n, MaxDims)
	}
	p := &Plan{
		Shape: append([]int64{}, shape...), Strides: append([]int64{}, strides...),
		PaddedShape: make([]int64, n), AlignedIndex: make([]int64, n), Layout: make([]int32, n),
		Dims: append([]Dim{}, dims...), ItemSize: itemSize, Size: 1, Device: CPU,
	}
	if dims == nil {
		p.Dims = DefaultDims(n)
	}
	p.ByteAlignment = 4096
	if addr != 0 {
		p.ByteAlignment = min(4096, int64(1)<<min(bits.TrailingZeros64(uint64(addr)), 12))
	}
	for _, d := range shape {
		var ok bool
		if p.Size, ok = multiply(p.Size, d); !ok {
			return nil, ErrInvalid.Errorf("shape: %v has more elements than 2^63", shape)
		}
	}
	p.Bytes = p.Size * itemSize
	p.rankStrides()
	p.setExtent()
	return p, nil
}

// rankStrides sorts indices by stride, ties by position as in C order, and reads
// the padding off the distance between rows.
func (p *Plan) rankStrides() {
	order := make([]int, len(p.Shape))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return abs(p.Strides[order[a]]) > abs(p.Strides[order[b]]) })
	for rank, i := range order {
		p.Layout[i] = int32(rank)
	}
	for rank, i := range order {
		p.PaddedShape[i] = p.Shape[i]
		if rank > 0 && p.Strides[i] != 0 {
			if per := abs(p.Strides[order[rank-1]]) / abs(p.Strides[i]); per > p.Shape[i] && p.Shape[order[rank-1]] > 1 {
				p.PaddedShape[i] = per
			}
		}
	}
}

// setExtent measures what the elements reach over, lowest byte to highest.
func (p *Plan) setExtent() {
	p.Span = 0
	if p.Size == 0 {
		return
	}
	p.Span = p.ItemSize
	for i, n := range p.Shape {
		p.Span += (n - 1) * abs(p.Strides[i])
	}
	p.AllocBytes = p.Span
}

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}
