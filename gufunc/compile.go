package gufunc

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra -Wno-unused-parameter
// #cgo LDFLAGS: -lm
// #cgo noescape gb_gu_call_nest
// #cgo nocallback gb_gu_call_nest
// #include "call.h"
// #include <stdlib.h>
import "C"

import (
	"cmp"
	"slices"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/handle"
	"gridbuf/internal/record"
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
	f := compiler{g: g, k: &k, r: &q, b: b, l: l, cores: cores,
		specs: make([]*alloc.Spec, len(q.Operands)), c: C.gb_gu_call_new(C.int(len(q.Operands)))}
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

// compiler writes a resolved call into the C record.
type compiler struct {
	g *GUFunc
	k *Kernel
	r *Request
	b *binding
	l *outerLoops
	c *C.gb_gu_call

	cores []coreAxes // of absent outputs
	specs []*alloc.Spec
}

func (f *compiler) compile() error {
	if f.l.n > maxElements {
		return setupError("the outer shape %v has too many elements", f.l.shape)
	}
	for i := f.g.Signature.Inputs; i < len(f.r.Operands); i++ {
		if f.r.Operands[i].Absent {
			if err := f.output(i); err != nil {
				return err
			}
		}
	}
	c := f.c
	c.nin, c.nop = C.int32_t(f.g.Signature.Inputs), C.int32_t(len(f.r.Operands))
	c.form, c.fp_mask = C.int32_t(f.k.Form), C.int32_t(f.g.Flags)
	c.function, c.data = pointer(f.k.Function), pointer(f.k.Data)
	c.kernel, c.n = C.int64_t(f.r.Kernel), C.int64_t(f.l.n)
	f.kernelFlags()
	f.loops()
	for i := range f.r.Operands {
		f.operand(i)
	}
	C.gb_gu_call_cut(c)
	return nil
}

// pointer is a C address as a pointer; never Go memory.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// output plans an absent output and puts its strides into the request.
func (f *compiler) output(i int) error {
	t := f.r.Operands[i].Type
	if t == alloc.Raw {
		t = f.k.Types[i]
	}
	spec := f.b.outputSpec(f.r, f.l, i, t.Size())
	if len(spec.Shape) > alloc.MaxDims {
		return setupError("%s would have %d dimensions; at most %d are allowed",
			f.g.Signature.operandName(i), len(spec.Shape), alloc.MaxDims)
	}
	made, err := planned(spec)
	f.c.out[i], f.specs[i] = made, spec
	if err != nil {
		return err
	}
	strides := unsafe.Slice((*int64)(made.geometry.strides), len(spec.Shape))
	outer := len(f.l.shape)
	for d := range outer {
		if f.l.shape[d] != 1 {
			f.l.strides[i][d] = strides[d]
		}
	}
	for k, u := range f.g.Signature.Operands[i].Dims {
		if !f.b.gone[u.Dim] {
			f.b.cores[i][k].stride = strides[outer]
			outer++
		}
	}
	f.r.Operands[i].Type = t
	f.c.out[i], err = f.cores[i].reorder(made, len(f.l.shape))
	return err
}

// planned has C work a request out in a record of its own, to be freed.
func planned(s *alloc.Spec) (*C.gb_plan, error) {
	made := C.gb_plan_new(C.int(len(s.Shape)))
	if made == nil {
		return nil, alloc.ErrNoMemory.Errorf("no memory left for a plan")
	}
	if err := record.PlanInto(record.Plan(made), s); err != nil {
		C.free(unsafe.Pointer(made))
		return nil, err
	}
	C.gb_plan_finish(made)
	return made, nil
}

func set(flags *C.int32_t, on bool, flag C.int32_t) {
	if on {
		*flags |= flag
	}
}

// flags are those of a call that say who may run the kernel.
func (k *Kernel) flags() (flags C.int32_t) {
	set(&flags, k.Exclusive, C.GB_GU_EXCLUSIVE)
	set(&flags, k.OneWorker || k.Exclusive, C.GB_GU_ONE_WORKER)
	set(&flags, k.Raises, C.GB_GU_RAISES)
	set(&flags, !k.Bounded, C.GB_GU_MEASURED)
	return flags
}

func (f *compiler) kernelFlags() {
	f.c.flags = f.k.flags()
	set(&f.c.flags, f.k.Pure && f.g.Signature.Scalar(), C.GB_GU_PURE)
	set(&f.c.flags, f.r.Where != nil, C.GB_GU_WHERE)
	if f.k.Form == GoLoop {
		f.c.fp_mask = 0 // a goroutine may move between threads, and flags belong to threads
	}
}

func (f *compiler) loops() {
	c := f.c
	c.outer_ndim, c.ncore = C.int32_t(len(f.l.shape)), C.int32_t(len(f.b.sizes))
	copy(unsafe.Slice((*int64)(&c.outer_shape[0]), len(c.outer_shape)), f.l.shape)
	copy(unsafe.Slice((*int64)(&c.core[0]), len(c.core)), f.b.sizes)
	var t C.gb_gu_tracks
	for i, strides := range f.l.strides {
		copy(unsafe.Slice((*int64)(&t.strides[i][0]), len(t.strides[i])), strides)
	}
	if f.l.where != nil {
		copy(unsafe.Slice((*int64)(&t.strides[c.nop][0]), len(t.strides[c.nop])), f.l.where)
	}
	C.gb_gu_call_nest(c, &t)
}

func (f *compiler) operand(i int) {
	o := operandOf(f.c, i)
	describe(o, &f.r.Operands[i], f.k.Types[i])
	set(&f.c.flags, o.from != o.to && i >= f.g.Signature.Inputs, C.GB_GU_CASTS_OUT)
	core := f.b.cores[i]
	o.core_ndim = C.int32_t(len(core))
	for d := len(core) - 1; d >= 0; d-- {
		o.core_shape[d], o.core_strides[d] = C.int64_t(core[d].size), C.int64_t(core[d].stride)
		o.packed[d] = o.core_items * o.kernel_item
		o.core_items *= C.int64_t(core[d].size)
	}
	if f.c.flags&C.GB_GU_WHERE != 0 && (f.c.flags&C.GB_GU_PURE == 0 || i >= f.g.Signature.Inputs) {
		o.staged = 1 // a mask picks elements from scratch memory, or blends results from there
	}
	f.c.out_ndim[i] = C.int32_t(len(f.l.shape) + len(core))
}

// describe says what the elements of an operand are, in memory and for the kernel.
func describe(o *C.gb_gu_operand, from *Operand, to alloc.Type) {
	o.from, o.to, o.core_items = C.uint8_t(from.Type), C.uint8_t(to), 1
	o.item, o.kernel_item = C.int64_t(from.Type.Size()), C.int64_t(to.Size())
	if from.Swapped && from.Type.Size() > 1 {
		o.swapped = 1
	}
	if o.from != o.to || o.swapped != 0 || from.Misaligned {
		o.staged = 1
	}
}

// scratch is how many bytes of a worker's scratch memory are given away.
type scratch int64

// room gives away some more, on a cache line; it returns where they begin.
func (s *scratch) room(bytes int64) C.int64_t {
	start := *s
	*s += scratch((bytes + 63) &^ 63)
	return C.int64_t(start)
}

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
	spec := &alloc.Spec{Shape: slices.Clone(l.shape), ItemSize: itemSize,
		Layout: make([]int32, outer+len(core))}
	for _, c := range core {
		spec.Shape = append(spec.Shape, c.size)
	}
	like := b.likeOf(r, l)
	strides := make([]int64, len(spec.Shape))
	if like >= 0 {
		copy(strides, l.strides[like])
		if slices.EqualFunc(b.s.Operands[like].Dims, b.s.Operands[i].Dims,
			func(x, y Use) bool { return x.Dim == y.Dim }) {
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
	slices.SortStableFunc(sorted, func(x, y int) int {
		return cmp.Compare(abs(strides[y]),
			abs(strides[x]))
	})
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
		equal := slices.EqualFunc(b.s.Operands[like].Dims, b.s.Operands[i].Dims,
			func(x, y Use) bool { return x.Dim == y.Dim })
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
