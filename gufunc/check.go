package gufunc

// #include "call.h"
import "C"

import (
	"slices"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/record"
)

func init() {
	record.Call = func(c any) unsafe.Pointer { return c.(*Call).call.Take(callName) }
	record.Reduction = func(r any) unsafe.Pointer {
		return r.(*Reduction).reduction.Take(reductionName)
	}
	record.TurnShapes = func(g, r any) error { return g.(*GUFunc).turnShapes(r.(*Request)) }
	record.SelectAsked = func(g, inputs, wanted any, rule uint8) (int, error) {
		return g.(*GUFunc).selectAsked(inputs.([]TypeArg), wanted.([]alloc.Type), casting(rule))
	}
}

// Checks of operands, before anything is worked out: unknown types, lists of
// different lengths and addresses that are nil are errors that name the operand.

// ready refuses a GUFunc that New did not make.
func (g *GUFunc) ready() error {
	if g == nil || g.Signature == nil || !g.Signature.parsed {
		return setupError("gufunc: it has no signature; New makes one")
	}
	return nil
}

// isElement says whether kernels can have such a type.
func isElement(t alloc.Type) bool { return t.Known() && t != alloc.Raw }

func (g *GUFunc) checkArgs(inputs []TypeArg) error {
	if err := g.ready(); err != nil {
		return err
	}
	for i, a := range inputs {
		if a.Weak > WeakComplex {
			return setupError("%s: weak number of kind %d", g.Signature.operandName(i),
				uint8(a.Weak))
		}
		if a.Weak == Strong && !isElement(a.Type) {
			return setupError("%s: unknown element type %d", g.Signature.operandName(i),
				int32(a.Type))
		}
	}
	return nil
}

func checkTypes(types []alloc.Type) error {
	for i, t := range types {
		if !isElement(t) {
			return setupError("kernels: type %d of operand %d is none that a kernel can have",
				int32(t), i)
		}
	}
	return nil
}

// check looks at an operand, which errors call by its name.
func (o *Operand) check(name string) error {
	if o.Absent {
		if !o.Type.Known() {
			return setupError("%s: unknown element type %d", name, int32(o.Type))
		}
		return nil
	}
	if !isElement(o.Type) {
		return setupError("%s: unknown element type %d", name, int32(o.Type))
	}
	if len(o.Shape) != len(o.Strides) || len(o.Shape) > alloc.MaxDims {
		return setupError("%s: %d dimensions and %d strides; give as many of each, at most %d",
			name, len(o.Shape), len(o.Strides), int(alloc.MaxDims))
	}
	if o.Dims != nil && len(o.Dims) != len(o.Shape) {
		return setupError("%s: %d names for %d dimensions", name, len(o.Dims), len(o.Shape))
	}
	for i, n := range o.Shape {
		if n < 0 {
			return setupError("%s: Shape[%d] is %d; give 0 or more", name, i, n)
		}
	}
	return nil
}

func (g *GUFunc) checkRequest(r *Request) error {
	if err := g.ready(); err != nil {
		return err
	}
	s := g.Signature
	if r == nil || len(r.Operands) != len(s.Operands) {
		n := 0
		if r != nil {
			n = len(r.Operands)
		}
		return setupError("%s: %d operands, %s has %d", g.Name, n, s, len(s.Operands))
	}
	for i := range r.Operands {
		if r.Operands[i].Absent && i < s.Inputs {
			return setupError("%s: it is absent; only outputs may be", s.operandName(i))
		}
		if err := r.Operands[i].check(s.operandName(i)); err != nil {
			return err
		}
	}
	if r.Sizes != nil && len(r.Sizes) != len(s.Dims) {
		return setupError("sizes: %d for the %d core dimensions of %s", len(r.Sizes), len(s.Dims),
			s)
	}
	return checkMask(r.Where)
}

func checkMask(m *Operand) error {
	if m == nil {
		return nil
	}
	if m.Absent {
		return setupError("where: it is absent")
	}
	if err := m.check("where"); err != nil || m.Type == alloc.Bool {
		return err
	}
	return setupError("where: expected bools, got %s", m.Type)
}

func (g *GUFunc) checkReduceRequest(q *ReduceRequest) error {
	if err := g.ready(); err != nil {
		return err
	}
	if q == nil {
		return setupError("request: it is nil")
	}
	if q.Array.Absent {
		return setupError("array: it is absent")
	}
	if err := q.Array.check("array"); err != nil {
		return err
	}
	for i := range q.Outs {
		if err := q.Outs[i].check("out[" + itoa(i) + "]"); err != nil {
			return err
		}
	}
	for i, a := range q.Axes {
		if a < 0 || a >= len(q.Array.Shape) || slices.Contains(q.Axes[:i], a) {
			return setupError("axes: %v does not fit %d dimensions", q.Axes, len(q.Array.Shape))
		}
	}
	return checkMask(q.Where)
}

// lacksData says whether an array has elements and no memory.
func (a *Array) lacksData() bool { return a.Data == nil && !slices.Contains(a.Shape, 0) }

// checkData refuses an array that lacks memory.
func (a *Array) checkData(name string) error {
	if a.lacksData() {
		return setupError("%s: Data is nil, and shape %v has elements", name, a.Shape)
	}
	return nil
}

// checkReduce looks at an array and a mask with memory; PlanReduction looks at the rest.
func (g *GUFunc) checkReduce(a *Array, o *ReduceOptions) error {
	if err := g.ready(); err != nil {
		return err
	}
	if err := a.checkData("array"); err != nil || o.Where == nil {
		return err
	}
	return o.Where.checkData("where")
}

// checkStart looks at the addresses of a run.
func (g *GUFunc) checkStart(c *Call, data []unsafe.Pointer, o Options) error {
	call := c.c()
	for i, p := range data {
		if p != nil || call.n == 0 {
			continue
		}
		if i >= int(call.nop) {
			return setupError("where: its address is nil")
		}
		if operandOf(call, i).core_items > 0 {
			return setupError("%s: its address is nil", g.Signature.operandName(i))
		}
	}
	if o.Uniforms == nil && len(g.Signature.Uniforms) > 0 {
		return setupError("uniforms: %s has some; Options.Uniforms is nil", g.Signature)
	}
	return nil
}
