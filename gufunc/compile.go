package gufunc

// #include <stdlib.h>
// #include "call.h"
import "C"

import (
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/record"
)

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
	if t == NoType {
		t = f.k.Types[i]
	}
	spec := f.b.outputSpec(f.r, f.l, i, t.Size())
	if len(spec.Shape) > alloc.MaxDims {
		return setupError("%s would have %d dimensions; at most %d are allowed", f.g.Signature.operandName(i), len(spec.Shape), alloc.MaxDims)
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
	if err := alloc.PlanInto(record.Plan(made), s); err != nil {
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
func describe(o *C.gb_gu_operand, from *Operand, to Type) {
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
