package alloc

// #cgo noescape gb_plan_new
// #cgo nocallback gb_plan_new
// #cgo noescape gb_plan_request
// #cgo nocallback gb_plan_request
// #cgo noescape work_out
// #cgo nocallback work_out
// #cgo noescape gb_plan_finish
// #cgo nocallback gb_plan_finish
// #cgo noescape gb_plan_read_back
// #cgo nocallback gb_plan_read_back
// #cgo noescape free
// #cgo nocallback free
// #include <stdlib.h>
// #include "plan.h"
//
// // The numbers of a plan, without a pointer: cgo need not look for one.
// typedef struct {
//     int64_t itemsize, size, nbytes, boundary, offset, span, reserve;
//     int32_t device, device_id, memory;
// } plan_numbers;
//
// static plan_numbers numbers_of(const gb_plan *p) {
//     const gb_geometry *g = &p->geometry;
//     const gb_heap_layout *w = &p->want;
//     return (plan_numbers){g->itemsize, g->size, g->nbytes, w->boundary, w->offset, w->span,
//                           w->reserve, p->device, p->device_id, p->memory};
// }
//
// // A plan straight into lists of Go: four in ints, two in ranks, zeros.
// static int work_out(const gb_request *r, gb_preset preset, int64_t *ints, int32_t *ranks,
//                     plan_numbers *numbers, gb_error *e) {
//     int64_t steps[GB_MAXDIMS];
//     int n = r->ndim;
//     gb_plan p = {.geometry = {.ndim = n, .shape = ints, .strides = ints + n, .steps = steps,
//                               .dims = ranks},
//                  .padded_shape = ints + 2 * n, .aligned_index = ints + 3 * n,
//                  .layout = ranks + n};
//     if (gb_plan_request(r, &preset, &p, e) < 0) return -1;
//     gb_plan_finish(&p);
//     *numbers = numbers_of(&p);
//     return 0;
// }
import "C"

import (
	"slices"
	"unsafe"

	"gridbuf/internal/message"
	"gridbuf/internal/record"
)

// Plan is the answer to a Spec: everything that can be known without memory.
// A plan never changes: methods that return lists return copies.
type Plan struct {
	shape         []int64
	strides       []int64 // bytes
	paddedShape   []int64
	alignedIndex  []int64
	layout        []int32 // rank of each index's stride, 0 = largest
	dims          []Dim
	itemSize      int64
	byteAlignment int64 // the boundary the aligned element sits on, bytes
	offset        int64 // address of element 0 modulo ByteAlignment
	size          int64 // elements
	bytes         int64 // of the elements alone
	span          int64 // of the elements and their padding
	reserve       int64 // bytes that a block for this plan reserves
	device        Device
	deviceID      int
	memory        Memory
}

// NewPlan works out a request. The rule is that of GT4Py's proposal "Allocation and Array
// Interfaces": rows are padded to the alignment, and the aligned element sits on the boundary.
func NewPlan(s *Spec) (*Plan, error) {
	if s == nil {
		return nil, ErrInvalid.Errorf("spec: it is nil; give the address of a Spec")
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	n := len(s.Shape)
	ints, ranks := make([]int64, 4*n), make([]int32, 2*n)
	var r C.gb_request
	var numbers C.plan_numbers
	var e C.gb_error
	s.request(&r)
	if C.work_out(&r, s.preset(), (*C.int64_t)(unsafe.SliceData(ints)),
		(*C.int32_t)(unsafe.SliceData(ranks)), &numbers, &e) != 0 {
		return nil, errorOf(e)
	}
	p := &Plan{
		shape: ints[:n:n], strides: ints[n : 2*n : 2*n], paddedShape: ints[2*n : 3*n : 3*n],
		alignedIndex: ints[3*n:], layout: ranks[n:],
		dims: unsafe.Slice((*Dim)(unsafe.SliceData(ranks)), n),
	}
	p.setNumbers(&numbers)
	return p, nil
}

func init() {
	record.PlanInto = func(at record.Plan, s any) error {
		return planInto((*C.gb_plan)(at), s.(*Spec))
	}
}

// planInto works a request out into C's record of a plan, which has room for the shape.
func planInto(at *C.gb_plan, s *Spec) error {
	if err := s.check(); err != nil {
		return err
	}
	var r C.gb_request
	var e C.gb_error
	s.request(&r)
	preset := s.preset()
	if C.gb_plan_request(&r, &preset, at, &e) != 0 {
		return errorOf(e)
	}
	return nil
}

// request writes the Spec as C reads it, into zeros.
func (s *Spec) request(r *C.gb_request) {
	r.ndim, r.sub_ndim = C.int32_t(len(s.Shape)), C.int32_t(s.SubShape)
	r.device, r.device_id = C.int32_t(s.Device), C.int32_t(s.DeviceID)
	r.memory, r.itemsize = C.int32_t(s.Memory), C.int64_t(s.ItemSize)
	r.byte_alignment, r.padding = C.int64_t(s.ByteAlignment), C.int64_t(s.Padding)
	r.alignment = C.int64_t(s.Alignment)
	r.dims_len, r.aligned_len = given(s.Dims), given(s.AlignedIndex)
	r.layout_len = given(s.Layout)
	copy(unsafe.Slice((*int64)(&r.shape[0]), MaxDims), s.Shape)
	copy(unsafe.Slice((*Dim)(&r.dims[0]), MaxDims), s.Dims)
	copy(unsafe.Slice((*int64)(&r.aligned_index[0]), MaxDims), s.AlignedIndex)
	copy(unsafe.Slice((*int32)(&r.layout[0]), MaxDims), s.Layout)
}

// preset is the Spec's as C reads it; "C" where there is none.
func (s *Spec) preset() C.gb_preset {
	p := s.Preset
	if p == nil {
		return C.gb_preset{order: C.GB_BY_INDEX, alignment: 1, device: C.GB_CPU}
	}
	made := C.gb_preset{
		order: C.int32_t(p.Order), device: C.int32_t(p.Device), alignment: C.int64_t(p.Alignment),
	}
	for i := range min(len(p.Axes), len(made.axes)-1) {
		made.axes[i] = C.char(p.Axes[i])
	}
	return made
}

// check refuses what the lists and 32-bit numbers of C's request have no room for, and a preset
// that was not registered and orders no axes.
func (s *Spec) check() error {
	n := len(s.Shape)
	if n > MaxDims {
		return ErrInvalid.Errorf("shape: %d dimensions; at most %d are allowed", n, int(MaxDims))
	}
	if p := s.Preset; p != nil && p.Order == ByName && !ordersAxes(p.Axes) {
		return ErrInvalid.Errorf("layout: %q does not order the axes; give I, J and K once each, "+
			"slowest first, such as \"KJI\"", p.Axes)
	}
	if s.SubShape < 0 || s.SubShape > n {
		return ErrInvalid.Errorf("dtype: a sub-shape of %d indices in a shape of %d", s.SubShape, n)
	}
	if k := len(s.AlignedIndex); k > MaxDims {
		return ErrInvalid.Errorf("aligned_index: %d entries for %d indices; give one for each",
			k, n-s.SubShape)
	}
	if k := len(s.Layout); k > MaxDims {
		return ErrInvalid.Errorf("layout: %d entries for %d indices; give one rank for each", k, n)
	}
	return nil
}

func given[T any](list []T) C.int32_t {
	if list == nil {
		return -1
	}
	return C.int32_t(len(list))
}

// errorOf takes a copy, which is on the heap: the caller's own stays on its stack.
func errorOf(e C.gb_error) error {
	return &Error{Kind: Kind(e.kind), Message: message.Text(e.message[:])}
}

func errNoPlan() error { return ErrNoMemory.Errorf("no memory left for a plan") }

// planOf is a copy of a plan that C keeps.
func planOf(f *C.gb_plan) *Plan {
	n := int(f.geometry.ndim)
	ints, ranks, dims := make([]int64, 4*n), make([]int32, n), make([]Dim, n)
	p := &Plan{
		shape: ints[:n:n], strides: ints[n : 2*n : 2*n], paddedShape: ints[2*n : 3*n : 3*n],
		alignedIndex: ints[3*n:], layout: ranks, dims: dims,
	}
	numbers := C.numbers_of(f)
	p.setNumbers(&numbers)
	from := view(f)
	copy(p.shape, from.shape)
	copy(p.strides, from.strides)
	copy(p.paddedShape, from.paddedShape)
	copy(p.alignedIndex, from.alignedIndex)
	copy(p.layout, from.layout)
	copy(p.dims, from.dims)
	return p
}

func (p *Plan) setNumbers(f *C.plan_numbers) {
	p.itemSize, p.size, p.bytes = int64(f.itemsize), int64(f.size), int64(f.nbytes)
	p.byteAlignment, p.offset = int64(f.boundary), int64(f.offset)
	p.span, p.reserve = int64(f.span), int64(f.reserve)
	p.device, p.deviceID, p.memory = Device(f.device), int(f.device_id), Memory(f.memory)
}

// record is a copy of the plan for C, to be freed; nil without memory.
func (p *Plan) record() *C.gb_plan {
	f := C.gb_plan_new(C.int(len(p.shape)))
	if f == nil {
		return nil
	}
	to := view(f)
	copy(to.shape, p.shape)
	copy(to.strides, p.strides)
	copy(to.paddedShape, p.paddedShape)
	copy(to.alignedIndex, p.alignedIndex)
	copy(to.layout, p.layout)
	copy(to.dims, p.dims)
	f.geometry.itemsize = C.int64_t(p.itemSize)
	f.want = p.want()
	f.device, f.device_id, f.memory = C.int32_t(p.device), C.int32_t(p.deviceID),
		C.int32_t(p.memory)
	C.gb_plan_finish(f)
	return f
}

// view is a plan whose lists are the record's.
func view(f *C.gb_plan) Plan {
	g := &f.geometry
	n := int(g.ndim)
	return Plan{
		shape:        unsafe.Slice((*int64)(g.shape), n),
		strides:      unsafe.Slice((*int64)(g.strides), n),
		paddedShape:  unsafe.Slice((*int64)(f.padded_shape), n),
		alignedIndex: unsafe.Slice((*int64)(f.aligned_index), n),
		layout:       unsafe.Slice((*int32)(f.layout), n),
		dims:         unsafe.Slice((*Dim)(g.dims), n),
	}
}

func (p *Plan) want() C.gb_heap_layout {
	return C.gb_heap_layout{
		span: C.int64_t(p.span), boundary: C.int64_t(p.byteAlignment),
		offset: C.int64_t(p.offset), reserve: C.int64_t(p.reserve),
	}
}

// Describe reads a plan back from memory that already exists: any strides, at
// address addr. The aligned index is zeros and the byte alignment the largest
// power of two, up to 4096, that divides addr; what is reserved is taken to be
// the extent of the elements.
func Describe(shape, strides []int64, dims []Dim, itemSize int64, addr uintptr) (*Plan, error) {
	n := len(shape)
	if n > MaxDims {
		return nil, ErrInvalid.Errorf("shape: %d dimensions; at most %d are allowed", n,
			int(MaxDims))
	}
	if len(strides) != n || (dims != nil && len(dims) != n) {
		return nil, ErrInvalid.Errorf("strides, dims: %d and %d entries for %d dimensions; give "+
			"one for each",
			len(strides), len(dims), n)
	}
	if itemSize < 0 {
		return nil, ErrInvalid.Errorf("itemSize: %d; items have 0 or more bytes", itemSize)
	}
	if dims == nil {
		dims = DefaultDims(n)
	}
	from, made := C.gb_plan_new(C.int(n)), C.gb_plan_new(C.int(n))
	defer C.free(unsafe.Pointer(from))
	defer C.free(unsafe.Pointer(made))
	if from == nil || made == nil {
		return nil, errNoPlan()
	}
	given := view(from)
	copy(given.shape, shape)
	copy(given.strides, strides)
	copy(given.dims, dims)
	from.geometry.itemsize = C.int64_t(itemSize)
	var e C.gb_error
	if C.gb_plan_read_back(&from.geometry, C.uintptr_t(addr), made, &e) != 0 {
		return nil, errorOf(e)
	}
	C.gb_plan_finish(made)
	return planOf(made), nil
}

// String is one line: dims, shape, item size, strides, what is aligned and how much is reserved.
func (p *Plan) String() string {
	device := p.where()
	if p.memory != Plain {
		device += ", " + p.memory.String()
	}
	return message.Format("Plan(%s %v of %d bytes, strides=%v, aligned_index=%v, "+
		"byte_alignment=%d, %d bytes reserved, %s)",
		DimsString(p.dims), p.shape, p.itemSize, p.strides,
		p.alignedIndex,
		p.byteAlignment, p.reserve, device)
}

// Shape is the size of each index, as asked for.
func (p *Plan) Shape() []int64 { return slices.Clone(p.shape) }

// Strides is how many bytes one step along each index is.
func (p *Plan) Strides() []int64 { return slices.Clone(p.strides) }

// PaddedShape is the shape with the padding at the end of its rows.
func (p *Plan) PaddedShape() []int64 { return slices.Clone(p.paddedShape) }

// AlignedIndex is the element that lies on the boundary.
func (p *Plan) AlignedIndex() []int64 { return slices.Clone(p.alignedIndex) }

// Layout is the rank of each index's stride; 0 is the largest.
func (p *Plan) Layout() []int32 { return slices.Clone(p.layout) }

// Dims names the indices.
func (p *Plan) Dims() []Dim { return slices.Clone(p.dims) }

// ItemSize is the bytes of one element.
func (p *Plan) ItemSize() int64 { return p.itemSize }

// ByteAlignment is the boundary, in bytes, that the element at AlignedIndex lies on.
func (p *Plan) ByteAlignment() int64 { return p.byteAlignment }

// Offset is the address of element 0 modulo ByteAlignment.
func (p *Plan) Offset() int64 { return p.offset }

// Size is the number of elements.
func (p *Plan) Size() int64 { return p.size }

// Bytes is what the elements alone take.
func (p *Plan) Bytes() int64 { return p.bytes }

// Span is what the elements and their padding take, in bytes.
func (p *Plan) Span() int64 { return p.span }

// AllocBytes is what a block for this plan reserves.
func (p *Plan) AllocBytes() int64 { return p.reserve }

// Device is the device that the memory is for.
func (p *Plan) Device() Device { return p.device }

// DeviceID is the number of the GPU.
func (p *Plan) DeviceID() int { return p.deviceID }

// Memory is the kind of memory.
func (p *Plan) Memory() Memory { return p.memory }
