package gufunc

import (
	"slices"
	"unsafe"

	"gridbuf/alloc"
)

// Array is an operand with memory: what a Go program passes to Call. The memory is C
// memory, as that of an [alloc.Buffer] is.
type Array struct {
	Operand
	Data unsafe.Pointer
}

// ArrayOf describes a buffer whose items are of type t.
func ArrayOf(b *alloc.Buffer, t Type) Array {
	return Array{Operand{Type: t, Shape: b.Plan().Shape(), Strides: b.Plan().Strides()}, b.Data()}
}

// Result is what a call gives: the outputs, and how it went.
type Result struct {
	Outputs []Array
	*Outcome
	buffers []*alloc.Buffer
}

// Free gives the memory of allocated outputs back.
func (r *Result) Free() {
	for _, b := range r.buffers {
		b.Free()
	}
}

// allocate adds an output.
func (r *Result) allocate(s *alloc.Spec, t Type) error {
	p, err := alloc.NewPlan(s)
	if err != nil {
		return err
	}
	b, err := alloc.New(p)
	if err != nil {
		return err
	}
	r.buffers = append(r.buffers, b)
	r.Outputs = append(r.Outputs, ArrayOf(b, t))
	return nil
}

// Call selects a kernel, resolves, allocates missing outputs and runs, in one go. Give
// inputs, then the outputs that exist; where may be nil.
func (g *GUFunc) Call(operands []Array, where *Array, o Options) (*Result, error) {
	s := g.Signature
	if len(operands) < s.Inputs || len(operands) > len(s.Operands) {
		return nil, setupError("%s: %d operands given; %s takes %d inputs and up to %d outputs", g.Name, len(operands), s, s.Inputs, s.Outputs())
	}
	types := make([]TypeArg, s.Inputs)
	for i := range types {
		types[i].Type = operands[i].Type
	}
	n, err := g.SelectKernel(types)
	if err != nil {
		return nil, err
	}
	r := &Request{Kernel: n}
	for i := range s.Operands {
		if i < len(operands) {
			r.Operands = append(r.Operands, operands[i].Operand)
		} else {
			r.Operands = append(r.Operands, Operand{Absent: true})
		}
	}
	if where != nil {
		r.Where = &where.Operand
	}
	c, err := g.Resolve(r)
	if err != nil {
		return nil, err
	}
	defer c.Free()
	return g.callResolved(c, r, operands, where, o)
}

func (g *GUFunc) callResolved(c *Call, r *Request, operands []Array, where *Array, o Options) (*Result, error) {
	result := &Result{Outputs: slices.Clone(operands[g.Signature.Inputs:])}
	for i := len(operands); i < len(r.Operands); i++ {
		if err := result.allocate(c.specs[i], r.Operands[i].Type); err != nil {
			result.Free()
			return nil, err
		}
	}
	data := make([]unsafe.Pointer, 0, len(r.Operands)+1)
	for _, a := range slices.Concat(operands[:g.Signature.Inputs], result.Outputs) {
		data = append(data, a.Data)
	}
	if where != nil {
		data = append(data, where.Data)
	}
	var err error
	if result.Outcome, err = g.Run(c, data, o); err != nil {
		result.Free()
		return nil, err
	}
	return result, nil
}
