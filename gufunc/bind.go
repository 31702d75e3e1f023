package gufunc

import "gridbuf/alloc"

// Operand is an operand of a call as resolution sees it: no memory, only its shape.
// Core dimensions are the last ones.
type Operand struct {
	Type       Type
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
	Axes     [][]int64 // of each operand's core; outputs without one may be left out; nil: the last axes
	Axis     *int64    // of the one core dimension that operands share; nil: the last one
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
		return b.s.errorAt(b.s.Operands[i].At, "%s has %d dimensions; its core needs %d", b.s.operandName(i), len(o.Shape), len(uses))
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
			return b.s.errorAt(u.At, "%s has size %d in core dimension %s, which is %d", b.s.operandName(i), size, d.Name, b.sizes[u.Dim])
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
			return b.s.errorAt(d.At, "the computed dimension %s is %d; sizes are 0 or more", d.Name, n)
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
			return b.s.errorAt(u.At, "no operand binds the core dimension %s of %s; give out= or output_dims", d.Name, b.s.operandName(i))
		}
		if !b.gone[u.Dim] && !o.Absent {
			at.axis, at.stride = axis, o.Strides[axis]
			if o.Shape[axis] != at.size {
				if !u.Broadcast || o.Shape[axis] != 1 {
					return b.s.errorAt(u.At, "%s has size %d in core dimension %s, which is %d", b.s.operandName(i), o.Shape[axis], d.Name, at.size)
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
