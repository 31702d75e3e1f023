package gufunc

import (
	"slices"
	"unsafe"

	"gridbuf/alloc"
)

// Array is an operand with memory: what a Go program passes to Call. Memory of Go's is pinned while a
// call runs.
type Array struct {
	Operand
	Data unsafe.Pointer
}

// ArrayOf describes a buffer whose items are of type t; they have the size of the plan's.
func ArrayOf(b *alloc.Buffer, t Type) (Array, error) {
	v, err := b.View(t)
	return Array{Operand{Type: v.Type, Shape: v.Shape, Strides: v.Strides}, v.Data}, err
}

// Result is what a call gives: the outputs, and how it went.
type Result struct {
	Outputs []Array
	*Outcome
	buffers []*alloc.Buffer
}

// Free gives the memory of allocated outputs back, which have no address afterwards.
func (r *Result) Free() {
	for i := range r.buffers {
		r.Outputs[len(r.Outputs)-len(r.buffers)+i].Data = nil
	}
	for _, b := range r.buffers {
		b.Free()
	}
	r.buffers = nil
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
	a, err := ArrayOf(b, t)
	if err != nil {
		b.Free()
		return err
	}
	r.buffers = append(r.buffers, b)
	r.Outputs = append(r.Outputs, a)
	return nil
}

// Call selects a kernel, resolves, allocates missing outputs and runs, in one go. Give
// inputs, then the outputs that exist; where may be nil.
func (g *GUFunc) Call(operands []Array, where *Array, o Options) (*Result, error) {
	if err := g.ready(); err != nil {
		return nil, err
	}
	s := g.Signature
	if len(operands) < s.Inputs || len(operands) > len(s.Operands) {
		return nil, setupError("%s: %d operands given; %s takes %d inputs and up to %d outputs", g.Name, len(operands), s, s.Inputs, s.Outputs())
	}
	for i := range operands {
		if err := operands[i].checkData(s.operandName(i)); err != nil {
			return nil, err
		}
	}
	if where != nil {
		if err := where.checkData("where"); err != nil {
			return nil, err
		}
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
