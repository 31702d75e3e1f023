package gufunc

import (
	"cmp"
	"slices"

	"gridbuf/alloc"
	"gridbuf/internal/sorting"
)

// outputSpec asks for the memory of an absent output: outer dimensions in the order of
// strides of the input that has most of them, the core as in the first input with the
// same core, else innermost and C-ordered.
func (b *binding) outputSpec(r *Request, l *outerLoops, i int, itemSize int64) *alloc.Spec {
	var core []coreAt
	var uses []Use
	for k, c := range b.cores[i] {
		if u := b.s.Operands[i].Dims[k]; !b.gone[u.Dim] {
			core, uses = append(core, c), append(uses, u)
		}
	}
	outer := len(l.shape)
	spec := &alloc.Spec{Shape: slices.Clone(l.shape), ItemSize: itemSize, Layout: make([]int32, outer+len(core))}
	for _, c := range core {
		spec.Shape = append(spec.Shape, c.size)
	}
	like := b.likeOf(r, l)
	strides := make([]int64, len(spec.Shape))
	if like >= 0 {
		copy(strides, l.strides[like])
		if slices.EqualFunc(b.s.Operands[like].Dims, b.s.Operands[i].Dims, func(x, y Use) bool { return x.Dim == y.Dim }) {
			for k := range core {
				strides[outer+k] = b.cores[like][k].stride
			}
		}
	}
	for rank, d := range bySlowness(strides) {
		spec.Layout[d] = int32(rank)
	}
	spec.Dims = b.outputDims(r, l, i, uses)
	return spec
}

// bySlowness is the order of dimensions from the largest stride to the smallest; those
// without a stride keep their place.
func bySlowness(strides []int64) []int {
	var strided []int
	order := make([]int, len(strides))
	for d, s := range strides {
		order[d] = d
		if s != 0 {
			strided = append(strided, d)
		}
	}
	sorted := slices.Clone(strided)
	sorting.Stable(sorted, func(x, y int) int { return cmp.Compare(abs(strides[y]), abs(strides[x])) })
	for k, d := range strided {
		order[d] = sorted[k]
	}
	return order
}

// likeOf is the input whose layout outputs take: the first with the most outer
// dimensions that it does not broadcast along.
func (b *binding) likeOf(r *Request, l *outerLoops) int {
	like, most := -1, 0
	for i := range b.s.Inputs {
		count := 0
		for _, s := range l.strides[i] {
			if s != 0 {
				count++
			}
		}
		if count > most {
			like, most = i, count
		}
	}
	return like
}

// outputDims names the indices of an output: the outer names, then for its core those of
// the first input with the same core, else the names that the input has which bound it,
// where they are still free.
func (b *binding) outputDims(r *Request, l *outerLoops, i int, uses []Use) []alloc.Dim {
	if l.dims == nil {
		return nil
	}
	dims := slices.Clone(l.dims)
	next := alloc.Dim(0)
	for _, d := range dims {
		next = max(next, d+1)
	}
	like := b.sameCore(r, i)
	for k, u := range uses {
		name := next
		if like >= 0 {
			name = r.Operands[like].Dims[b.outer[like]+k]
		} else {
			name = b.boundBy(r, u, next)
		}
		if slices.Contains(dims, name) {
			name = next
		}
		dims = append(dims, name)
		next = max(next, name+1)
	}
	return dims
}

// sameCore is the first input with names whose core is that of operand i; -1: none.
func (b *binding) sameCore(r *Request, i int) int {
	for like := range b.s.Inputs {
		equal := slices.EqualFunc(b.s.Operands[like].Dims, b.s.Operands[i].Dims, func(x, y Use) bool { return x.Dim == y.Dim })
		if equal && r.Operands[like].Dims != nil {
			return like
		}
	}
	return -1
}

// boundBy is the name that the first input has for a core dimension.
func (b *binding) boundBy(r *Request, u Use, otherwise alloc.Dim) alloc.Dim {
	for i := range b.s.Inputs {
		for k, v := range b.s.Operands[i].Dims {
			if at := b.cores[i][k]; v.Dim == u.Dim && at.axis >= 0 && r.Operands[i].Dims != nil {
				return r.Operands[i].Dims[at.axis]
			}
		}
	}
	return otherwise
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}
