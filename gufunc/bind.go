package gufunc

import (
	"slices"
	"strconv"

	"gridbuf/alloc"
	"gridbuf/internal/message"
)

// Operand is an operand of a call as resolution sees it: no memory, only its shape.
// Core dimensions are the last ones.
type Operand struct {
	Type       alloc.Type
	Swapped    bool // the other byte order
	Misaligned bool // addresses that the type does not allow
	Absent     bool // an output that is to be allocated; the rest does not count
	Shape      []int64
	Strides    []int64     // bytes
	Dims       []alloc.Dim // the names of its indices; nil: it has none
}

// Request is a call without memory.
type Request struct {
	Kernel   int       // number of the kernel
	Operands []Operand // inputs, then outputs
	Where    *Operand  // a mask of bools over the outer shape; nil: every element
	Sizes    []int64   // of core dimensions that are known otherwise; nil, or -1 where not
	// of each operand's core; outputs without one may be left out; nil: the last axes
	Axes     [][]int64
	Axis     *int64 // of the one core dimension that operands share; nil: the last one
	AxisName *alloc.Dim
	KeepDims bool // the core axes of the inputs stay in the outputs, which have none, with size 1
}

// binding is what the core dimensions of a call turned out to be.
type binding struct {
	s     *Signature
	sizes []int64    // of the distinct core dimensions
	gone  []bool     // "?" dimensions that are missing
	cores [][]coreAt // per operand, one per mentioned dimension
	outer []int      // per operand: its number of outer dimensions
}

type coreAt struct {
	size, stride int64
	axis         int // of the operand's shape; -1: missing
}

// bind finds the sizes of the core dimensions, checks that they agree and works the
// computed ones out.
func (g *GUFunc) bind(r *Request) (*binding, error) {
	s := g.Signature
	b := &binding{s: s, sizes: make([]int64, len(s.Dims)), gone: make([]bool, len(s.Dims)),
		cores: make([][]coreAt, len(s.Operands)), outer: make([]int, len(s.Operands))}
	for i, d := range s.Dims {
		b.sizes[i] = d.Size
		if r.Sizes != nil && r.Sizes[i] >= 0 && d.Size < 0 {
			b.sizes[i] = r.Sizes[i]
		}
	}
	b.drop(r)
	for i := range r.Operands {
		if !r.Operands[i].Absent {
			if err := b.operand(r, i); err != nil {
				return nil, err
			}
		}
	}
	if err := b.compute(r); err != nil {
		return nil, err
	}
	for i := range r.Operands {
		if err := b.locateCore(r, i); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// drop marks optional dimensions as missing where an operand has too few indices.
func (b *binding) drop(r *Request) {
	for i, o := range r.Operands {
		if core := b.s.Operands[i].Dims; !o.Absent && len(o.Shape) < len(core) {
			for _, u := range core {
				b.gone[u.Dim] = b.gone[u.Dim] || b.s.Dims[u.Dim].Optional
			}
		}
	}
}

// present lists the dimensions of operand i that are not missing.
func (b *binding) present(i int) []Use {
	var uses []Use
	for _, u := range b.s.Operands[i].Dims {
		if !b.gone[u.Dim] {
			uses = append(uses, u)
		}
	}
	return uses
}

// operand binds names by the sizes of operand i.
func (b *binding) operand(r *Request, i int) error {
	o, uses := r.Operands[i], b.present(i)
	b.outer[i] = len(o.Shape) - len(uses)
	if b.outer[i] < 0 {
		return b.s.errorAt(b.s.Operands[i].At, "%s has %d dimensions; its core needs %d",
			b.s.operandName(i), len(o.Shape), len(uses))
	}
	for k, u := range uses {
		size := o.Shape[b.outer[i]+k]
		switch d := b.s.Dims[u.Dim]; {
		case d.Computed() || size == b.sizes[u.Dim]:
		case b.sizes[u.Dim] < 0:
			if !u.Broadcast || size != 1 {
				b.sizes[u.Dim] = size
			}
		case u.Broadcast && size == 1:
		default:
			return b.s.errorAt(u.At, "%s has size %d in core dimension %s, which is %d",
				b.s.operandName(i), size, d.Name, b.sizes[u.Dim])
		}
	}
	return nil
}

// compute settles sizes that only broadcast ones bind, and computed ones.
func (b *binding) compute(r *Request) error {
	for i := range r.Operands {
		for _, u := range b.s.Operands[i].Dims {
			if u.Broadcast && b.sizes[u.Dim] < 0 && !b.gone[u.Dim] {
				b.sizes[u.Dim] = 1
			}
		}
	}
	for i := range b.s.Dims {
		d := &b.s.Dims[i]
		if b.gone[i] {
			b.sizes[i] = 1
		}
		if !d.Computed() {
			continue
		}
		n, err := d.expr.value(b.s, b.sizes)
		if err != nil {
			return err
		}
		if n < 0 {
			return b.s.errorAt(d.At, "the computed dimension %s is %d; sizes are 0 or more", d.Name,
				n)
		}
		b.sizes[i] = n
	}
	return nil
}

// locateCore says where operand i's core lies in its memory.
func (b *binding) locateCore(r *Request, i int) error {
	o := r.Operands[i]
	axis := b.outer[i]
	for _, u := range b.s.Operands[i].Dims {
		d, at := &b.s.Dims[u.Dim], coreAt{size: b.sizes[u.Dim], axis: -1}
		if at.size < 0 {
			return b.s.errorAt(u.At,
				"no operand binds the core dimension %s of %s; give out= or output_dims", d.Name,
				b.s.operandName(i))
		}
		if !b.gone[u.Dim] && !o.Absent {
			at.axis, at.stride = axis, o.Strides[axis]
			if o.Shape[axis] != at.size {
				if !u.Broadcast || o.Shape[axis] != 1 {
					return b.s.errorAt(u.At, "%s has size %d in core dimension %s, which is %d",
						b.s.operandName(i), o.Shape[axis], d.Name, at.size)
				}
				at.stride = 0
			}
			axis++
		}
		b.cores[i] = append(b.cores[i], at)
	}
	return nil
}

// operandName is how errors call operand i.
func (s *Signature) operandName(i int) string {
	if i < s.Inputs {
		return "input " + itoa(i)
	}
	if s.Outputs() == 1 {
		return "out"
	}
	return "out[" + itoa(i-s.Inputs) + "]"
}

func itoa(i int) string { return strconv.Itoa(i) }

// outerLoops is the outer shape of a call and how every operand moves along it.
type outerLoops struct {
	shape   []int64
	dims    []alloc.Dim // names; nil: from the right
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
				return nil, setupError("operands do not broadcast: %s has size %d where another "+
					"has %d (outer dimension %s)\n    %s\n    %s",
					b.nameOf(all, i), o.Shape[axis], l.shape[d], l.dimName(d), b.s, shapesText(b,
						all))
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

// names fills in l.dims when the call broadcasts by name: the names of the first input or mask
// that has all, in its order, as in arithmetic of Fields; else the union in GDP-3's order of
// axes (I, J, K, then data dimensions). A mask and outputs may go without; their indices are
// then those of the result, from the right.
func (b *binding) names(r *Request, l *outerLoops) {
	dims, named := []alloc.Dim{}, false
	all := operandsWithMask(r)
	for i, o := range all {
		outer := b.outerOf(all, i)
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
	if !named {
		return
	}
	l.dims = dims
	for i, o := range all {
		output := i >= b.s.Inputs && i < len(r.Operands)
		if outer := b.outerOf(all, i); !output && o.Dims != nil && outer == len(dims) {
			l.dims = slices.Clone(o.Dims[:outer])
			return
		}
	}
	slices.Sort(dims)
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
			return setupError("%s has %d outer dimensions without names; the result has %v",
				b.nameOf(all, i), outer, message.List(l.dims))
		}
		for _, d := range l.dims {
			if output && o.Dims != nil && !slices.Contains(o.Dims[:outer], d) {
				return setupError("%s: its dimensions %v lack %v; the result has %v",
					b.nameOf(all, i), message.List(o.Dims[:outer]), d, message.List(l.dims))
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
				return setupError("%s cannot be broadcast: the outer shape is %v\n    %s\n    %s",
					b.s.operandName(i), l.shape, b.s, shapesText(b, all))
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
