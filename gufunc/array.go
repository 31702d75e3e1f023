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
	data := make([]unsafe.Pointer, 0, len(r.Operands)+1)
	for _, a := range operands {
		data = append(data, a.Data)
	}
	for i := len(operands); i < len(r.Operands); i++ {
		var b *alloc.Buffer
		plan, err := c.OutputPlan(i)
		if err == nil {
			b, err = alloc.New(plan)
		}
		if err != nil {
			result.Free()
			return nil, err
		}
		result.buffers = append(result.buffers, b)
		result.Outputs = append(result.Outputs, ArrayOf(b, r.Operands[i].Type))
		data = append(data, b.Data())
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
