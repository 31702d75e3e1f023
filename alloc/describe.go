package alloc

import (
	"cmp"
	"math/bits"
	"slices"
)

// Describe reads a plan back from memory that already exists: any strides, at
// address addr. The aligned index is zeros and the byte alignment the largest
// power of two, up to 4096, that divides addr; what is reserved is taken to be
// the extent of the elements.
func Describe(shape, strides []int64, dims []Dim, itemSize int64, addr uintptr) (*Plan, error) {
	n := len(shape)
	if n > MaxDims {
		return nil, ErrInvalid.Errorf("shape: %d dimensions; at most %d are allowed", n, int(MaxDims))
	}
	if len(strides) != n || (dims != nil && len(dims) != n) {
		return nil, ErrInvalid.Errorf("strides, dims: %d and %d entries for %d dimensions; give one for each",
			len(strides), len(dims), n)
	}
	if itemSize < 0 {
		return nil, ErrInvalid.Errorf("itemSize: %d; items have 0 or more bytes", itemSize)
	}
	p := &Plan{
		shape: append([]int64{}, shape...), strides: append([]int64{}, strides...),
		paddedShape: make([]int64, n), alignedIndex: make([]int64, n), layout: make([]int32, n),
		dims: append([]Dim{}, dims...), itemSize: itemSize, size: 1, device: CPU,
	}
	if dims == nil {
		p.dims = DefaultDims(n)
	}
	p.byteAlignment = 4096
	if addr != 0 {
		p.byteAlignment = min(4096, int64(1)<<min(bits.TrailingZeros64(uint64(addr)), 12))
	}
	for _, d := range shape {
		var ok bool
		if p.size, ok = multiply(p.size, d); !ok {
			return nil, ErrInvalid.Errorf("shape: %v has more elements than 2^63", shape)
		}
	}
	p.bytes = p.size * itemSize
	p.rankStrides()
	p.span = p.reaches()
	p.reserve = p.span
	return p, nil
}

// rankStrides sorts indices by stride, ties by position as in C order, and reads
// the padding off the distance between rows.
func (p *Plan) rankStrides() {
	order := make([]int, len(p.shape))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(abs(p.strides[b]), abs(p.strides[a])) })
	for rank, i := range order {
		p.layout[i] = int32(rank)
	}
	for rank, i := range order {
		p.paddedShape[i] = p.shape[i]
		if rank > 0 && p.strides[i] != 0 {
			if per := abs(p.strides[order[rank-1]]) / abs(p.strides[i]); per > p.shape[i] && p.shape[order[rank-1]] > 1 {
				p.paddedShape[i] = per
			}
		}
	}
}

// reaches is how many bytes there are from the first element to the last.
func (p *Plan) reaches() int64 {
	bytes := p.itemSize
	for i, n := range p.shape {
		if n == 0 {
			return 0
		}
		bytes += (n - 1) * abs(p.strides[i])
	}
	return bytes
}

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}
