package gufunc

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter
// #cgo LDFLAGS: -lm
// #include "call.h"
import "C"

import (
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/handle"
)

const maxElements = 1 << 62

// Call is a resolved call in C memory. Free it when no run uses it any more.
type Call struct {
	call  handle.Handle
	specs []*alloc.Spec // of absent outputs
}

const callName = "gufunc.Call"

func (c *Call) c() *C.gb_gu_call { return (*C.gb_gu_call)(c.call.Address(callName)) }

// Resolve works a request out: sizes, outer shape, layout of the outputs, loops and
// chunks.
func (g *GUFunc) Resolve(r *Request) (*Call, error) {
	if err := g.checkRequest(r); err != nil {
		return nil, err
	}
	k, err := g.Kernel(r.Kernel)
	if err != nil {
		return nil, err
	}
	q := *r
	cores, err := g.arrange(&q)
	if err != nil {
		return nil, err
	}
	b, err := g.bind(&q)
	if err != nil {
		return nil, err
	}
	l, err := b.broadcast(&q)
	if err != nil {
		return nil, err
	}
	f := compiler{g: g, k: &k, r: &q, b: b, l: l, cores: cores, specs: make([]*alloc.Spec, len(q.Operands)), c: C.gb_gu_call_new(C.int(len(q.Operands)))}
	if f.c == nil {
		return nil, alloc.ErrNoMemory.Errorf("no memory left for a call")
	}
	if err := f.compile(); err != nil {
		C.gb_gu_call_free(f.c)
		return nil, err
	}
	c := &Call{specs: f.specs}
	c.call.Hold(unsafe.Pointer(f.c))
	return c, nil
}

// Free gives the record back. A second Free does nothing.
func (c *Call) Free() { C.gb_gu_call_free((*C.gb_gu_call)(c.call.Take(callName))) }

// Elements is how many elements the call has.
func (c *Call) Elements() int64 { return int64(c.c().n) }

// Chunks is how many pieces of work it is cut into.
func (c *Call) Chunks() int64 { return int64(c.c().nchunks) }

// OuterShape is the shape of the stack of elements.
func (c *Call) OuterShape() []int64 {
	call := c.c()
	return append([]int64{}, unsafe.Slice((*int64)(&call.outer_shape[0]), int(call.outer_ndim))...)
}

// OutputPlan is the plan of the memory that an absent output needs; nil for others.
func (c *Call) OutputPlan(operand int) (*alloc.Plan, error) {
	if operand < 0 || operand >= len(c.specs) {
		return nil, setupError("operand: %d of %d", operand, len(c.specs))
	}
	if c.specs[operand] == nil {
		return nil, nil
	}
	return alloc.NewPlan(c.specs[operand])
}

func operandOf(c *C.gb_gu_call, i int) *C.gb_gu_operand {
	first := unsafe.Pointer(uintptr(unsafe.Pointer(c)) + C.sizeof_gb_gu_call)
	return (*C.gb_gu_operand)(unsafe.Add(first, i*C.sizeof_gb_gu_operand))
}
