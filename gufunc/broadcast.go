package gufunc

import (
	"cmp"
	"slices"
	"strconv"

	"gridbuf/alloc"
	"gridbuf/internal/message"
	"gridbuf/internal/sorting"
)

func itoa(i int) string { return strconv.Itoa(i) }

// outerLoops is the outer shape of a call and how every operand moves along it.
type outerLoops struct {
	shape   []int64
	dims    []alloc.Dim // its names; nil: from the right
	strides [][]int64   // per operand; absent outputs have zeros until they are laid out
	where   []int64
	n       int64
}

// broadcast joins the outer dimensions: by name when all operands that have any carry
// names, else from the right.
func (b *binding) broadcast(r *Request) (*outerLoops, error) {
	l := &outerLoops{}
	all := operandsWithMask(r)
	b.names(r, l)
	if err := b.checkNames(r, l, all); err != nil {
		return nil, err
	}
	rank := len(l.dims)
	if l.dims == nil {
		for i, o := range all {
			if !o.Absent {
				rank = max(rank, b.outerOf(all, i))
			}
		}
	}
	if rank > alloc.MaxDims {
		return nil, setupError("%d outer dimensions; at most %d are allowed", rank, alloc.MaxDims)
	}
	l.shape = slices.Repeat([]int64{1}, rank)
	axes := make([][]int, len(all))
	for i, o := range all {
		axes[i] = b.axes(l, o, b.outerOf(all, i), rank)
		for d, axis := range axes[i] {
			if axis < 0 || o.Shape[axis] == 1 {
				continue
			}
			if l.shape[d] != 1 && l.shape[d] != o.Shape[axis] {
				return nil, setupError("operands do not broadcast: %s has size %d where another has %d (outer dimension %s)\n    %s\n    %s",
					b.nameOf(all, i), o.Shape[axis], l.shape[d], l.dimName(d), b.s, shapesText(b, all))
			}
			l.shape[d] = o.Shape[axis]
		}
	}
	return l, b.stridesOf(l, all, axes, len(r.Operands))
}

func operandsWithMask(r *Request) []Operand {
	if r.Where == nil {
		return r.Operands
	}
	return append(slices.Clip(r.Operands), *r.Where)
}

// outerOf is how many outer dimensions an operand or the mask has.
func (b *binding) outerOf(all []Operand, i int) int {
	if i < len(b.outer) {
		return b.outer[i]
	}
	return len(all[i].Shape)
}

func (b *binding) nameOf(all []Operand, i int) string {
	if i < len(b.outer) {
		return b.s.operandName(i)
	}
	return "where"
}

// names fills in l.dims when the call broadcasts by name: the union of all names in
// GDP-3's order of axes (I, J, K, then data dimensions). A mask and outputs may go
// without; their indices are then those of the result, from the right.
func (b *binding) names(r *Request, l *outerLoops) {
	dims, named := []alloc.Dim{}, false
	for i, o := range operandsWithMask(r) {
		outer := b.outerOf(operandsWithMask(r), i)
		named = named || i < b.s.Inputs && o.Dims != nil
		if o.Absent || o.Dims == nil && (outer == 0 || i >= b.s.Inputs) {
			continue
		}
		if o.Dims == nil {
			return
		}
		for _, d := range o.Dims[:outer] {
			if !slices.Contains(dims, d) {
				dims = append(dims, d)
			}
		}
	}
	if named {
		sorting.Stable(dims, cmp.Compare[alloc.Dim])
		l.dims = dims
	}
}

// checkNames refuses an output without a dimension that the result has, and indices
// without a name beyond those of the result.
func (b *binding) checkNames(r *Request, l *outerLoops, all []Operand) error {
	if l.dims == nil {
		return nil
	}
	for i, o := range all {
		output := i >= b.s.Inputs && i < len(r.Operands)
		if o.Absent || i < b.s.Inputs {
			continue
		}
		outer := b.outerOf(all, i)
		if o.Dims == nil && outer > len(l.dims) {
			return setupError("%s has %d outer dimensions without names; the result has %v", b.nameOf(all, i), outer, message.List(l.dims))
		}
		for _, d := range l.dims {
			if output && o.Dims != nil && !slices.Contains(o.Dims[:outer], d) {
				return setupError("%s: its dimensions %v lack %v; the result has %v", b.nameOf(all, i), message.List(o.Dims[:outer]), d, message.List(l.dims))
			}
		}
	}
	return nil
}

// axes says which axis of the operand runs along each outer dimension; -1 none.
func (b *binding) axes(l *outerLoops, o Operand, outer, rank int) []int {
	axes := slices.Repeat([]int{-1}, rank)
	if o.Absent {
		return axes
	}
	for axis := range outer {
		d := rank - outer + axis
		if l.dims != nil && o.Dims != nil {
			d = slices.Index(l.dims, o.Dims[axis])
		}
		if d >= 0 {
			axes[d] = axis
		}
	}
	return axes
}

func (b *binding) stridesOf(l *outerLoops, all []Operand, axes [][]int, operands int) error {
	l.n = 1
	for _, n := range l.shape {
		var ok bool
		if l.n, ok = compute('*', l.n, n); !ok {
			return setupError("the outer shape %v has more than 2^63 elements", l.shape)
		}
	}
	for i, o := range all {
		strides := make([]int64, len(l.shape))
		for d, axis := range axes[i] {
			output := i >= b.s.Inputs && i < operands && !o.Absent
			if output && (axis < 0 && l.shape[d] != 1 || axis >= 0 && o.Shape[axis] != l.shape[d]) {
				return setupError("%s cannot be broadcast: the outer shape is %v\n    %s\n    %s", b.s.operandName(i), l.shape, b.s, shapesText(b, all))
			}
			if axis >= 0 && o.Shape[axis] != 1 {
				strides[d] = o.Strides[axis]
			}
		}
		if i < operands {
			l.strides = append(l.strides, strides)
		} else {
			l.where = strides
		}
	}
	return nil
}

func (l *outerLoops) dimName(d int) string {
	if l.dims != nil {
		return l.dims[d].String()
	}
	return itoa(d - len(l.shape))
}

// shapesText lists all shapes, outer and core apart: "(5,4|3,3)".
func shapesText(b *binding, all []Operand) string {
	text := ""
	for i, o := range all {
		if o.Absent {
			continue
		}
		text += b.nameOf(all, i) + " ("
		for axis, n := range o.Shape {
			if axis == b.outerOf(all, i) && axis < len(o.Shape) {
				text += "|"
			} else if axis > 0 {
				text += ","
			}
			text += strconv.FormatInt(n, 10)
		}
		text += ") "
	}
	return text[:max(len(text)-1, 0)]
}
