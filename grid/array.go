package grid

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/dlpack"
)

// Element is a type that arrays hold: bools and numbers, also of named types.
type Element interface {
	~bool | ~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~complex64 | ~complex128
}

// elements are the types of alloc by the kinds of Go.
var elements = [...]alloc.Type{
	reflect.Bool: alloc.Bool,
	reflect.Int:  alloc.Int64, reflect.Int8: alloc.Int8, reflect.Int16: alloc.Int16,
	reflect.Int32: alloc.Int32, reflect.Int64: alloc.Int64,
	reflect.Uint: alloc.Uint64, reflect.Uint8: alloc.Uint8, reflect.Uint16: alloc.Uint16,
	reflect.Uint32: alloc.Uint32, reflect.Uint64: alloc.Uint64,
	reflect.Float32: alloc.Float32, reflect.Float64: alloc.Float64,
	reflect.Complex64: alloc.Complex64, reflect.Complex128: alloc.Complex128,
}

// TypeOf is the element type of package alloc that T has in memory.
func TypeOf[T Element]() alloc.Type { return elements[reflect.TypeFor[T]().Kind()] }

// Array is strided memory of elements of type T, whose first index is index 0. It is used by the
// pointer that a function of this package gave.
type Array[T Element] struct {
	_       noCopy
	memory  *memory
	data    unsafe.Pointer // element 0; interior pointer of a Go slice, or C memory
	shape   []int64
	strides []int64 // bytes, of any sign
	halo    []Halo  // nil: none
}

// Halo is the width of the halo on the two sides of an index.
type Halo struct{ Before, After int64 }

// memory is shared by an array and its views. It has neither buffer nor tensor where it is of a Go
// slice, or where the caller of FromView keeps it.
type memory struct {
	buffer   *alloc.Buffer
	tensor   *dlpack.Managed
	readOnly bool
	freed    atomic.Bool
}

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// New allocates an array on the host; its elements are undefined. The shape includes the halo,
// whose widths may be given for each index. Without an AlignedIndex the first element of the domain
// starts an alignment boundary. ItemSize may be left 0. Free gives the memory back.
func New[T Element](spec *alloc.Spec, halo ...int64) (*Array[T], error) {
	if spec == nil {
		return nil, alloc.ErrInvalid.Errorf("spec: it is nil")
	}
	size := TypeOf[T]().Size()
	s := *spec
	if s.ItemSize != 0 && s.ItemSize != size {
		return nil, alloc.ErrInvalid.Errorf("spec: ItemSize is %d; %s has %d bytes (0 will do)",
			s.ItemSize, TypeOf[T](), size)
	}
	s.ItemSize = size
	widths := symmetric(halo)
	if err := checkHalo(widths, s.Shape); err != nil {
		return nil, err
	}
	if s.AlignedIndex == nil && halo != nil {
		s.AlignedIndex = slices.Clone(halo)
	}
	plan, err := alloc.NewPlan(&s)
	if err != nil {
		return nil, err
	}
	buffer, err := alloc.New(plan)
	if err != nil {
		return nil, err
	}
	return &Array[T]{
		memory: &memory{buffer: buffer}, data: buffer.Data(),
		shape: plan.Shape(), strides: plan.Strides(), halo: widths,
	}, nil
}

// Of wraps a Go slice in C order: the last index is the fastest. The array keeps the slice alive;
// Free gives nothing back.
func Of[T Element](elements []T, shape ...int64) (*Array[T], error) {
	if len(shape) > alloc.MaxViewDims {
		return nil, alloc.ErrInvalid.Errorf("shape: %d dimensions; at most %d are allowed", len(shape),
			int(alloc.MaxViewDims))
	}
	strides, ok := cOrder(shape, int64(len(elements)), TypeOf[T]().Size())
	if !ok {
		return nil, alloc.ErrInvalid.Errorf("shape: %v does not have the %d elements of the slice",
			shape, len(elements))
	}
	first := unsafe.Pointer(unsafe.SliceData(elements))
	return &Array[T]{
		memory: &memory{}, data: first, shape: slices.Clone(shape), strides: strides,
	}, nil
}

// FromView wraps memory that its owner keeps longer than the array is used, such as that of a
// share.Array; Free gives nothing back. Set panics where the memory is read-only.
func FromView[T Element](v alloc.View, readOnly bool, halo ...Halo) (*Array[T], error) {
	if err := v.Check("v"); err != nil {
		return nil, err
	}
	if v.Type != TypeOf[T]() {
		return nil, alloc.ErrType.Errorf("v: its elements are %s; the array's are %s", v.Type,
			TypeOf[T]())
	}
	if err := checkHalo(halo, v.Shape); err != nil {
		return nil, err
	}
	return &Array[T]{
		memory: &memory{readOnly: readOnly}, data: v.Data,
		shape: slices.Clone(v.Shape), strides: slices.Clone(v.Strides), halo: slices.Clone(halo),
	}, nil
}

// cOrder is the strides of a shape with exactly so many elements, the last index the fastest.
func cOrder(shape []int64, elements, size int64) (strides []int64, ok bool) {
	strides = make([]int64, len(shape))
	if slices.Contains(shape, 0) { // no stride counts
		return strides, elements == 0 && slices.Min(shape) >= 0
	}
	n := int64(1)
	for d := len(shape) - 1; d >= 0; d-- {
		if shape[d] < 0 || shape[d] > elements/n {
			return nil, false
		}
		strides[d] = n * size
		n *= shape[d]
	}
	return strides, n == elements
}

// Free gives the memory back, that of all views of the array. A second Free does nothing. Consumers
// of tensors that were exported keep the memory until they are done.
func (a *Array[T]) Free() {
	if a.memory.freed.Swap(true) {
		return
	}
	if a.memory.buffer != nil {
		a.memory.buffer.Free()
	}
	if a.memory.tensor != nil {
		a.memory.tensor.Free()
	}
}

// Shape is the number of elements along each index.
func (a *Array[T]) Shape() []int64 { return slices.Clone(a.shape) }

// Strides is the distance of neighbours along each index, in bytes.
func (a *Array[T]) Strides() []int64 { return slices.Clone(a.strides) }

// Len is the number of elements.
func (a *Array[T]) Len() int64 {
	n := int64(1)
	for _, size := range a.shape {
		n *= size
	}
	return n
}

// Halo is the halo of each index; nil where the array has none.
func (a *Array[T]) Halo() []Halo { return slices.Clone(a.halo) }

// Buffer is the buffer of an array that New made, else nil. It belongs to the array.
func (a *Array[T]) Buffer() *alloc.Buffer { return a.memory.buffer }

// At is the element at an index, as many integers as the array has dimensions.
func (a *Array[T]) At(index ...int) T { return *a.at(index) }

// Set sets the element at an index.
func (a *Array[T]) Set(value T, index ...int) {
	if a.memory.readOnly {
		panic("grid.Array: Set on read-only memory")
	}
	*a.at(index) = value
}

func (a *Array[T]) at(index []int) *T {
	if len(index) != len(a.shape) || a.memory.freed.Load() {
		a.refuse(index)
	}
	offset := int64(0)
	for d, i := range index {
		if uint64(i) >= uint64(a.shape[d]) {
			a.refuse(index)
		}
		offset += int64(i) * a.strides[d]
	}
	return (*T)(unsafe.Add(a.data, offset))
}

// refuse panics: an index does not fit, or the memory was freed. The index is copied, so that the
// caller's list stays on the stack.
func (a *Array[T]) refuse(index []int) {
	if a.memory.freed.Load() {
		panic("grid.Array: it is used after Free")
	}
	panic(fmt.Sprintf("grid.Array: index %v is outside of shape %v", slices.Clone(index), a.shape))
}

// Index fixes one index: the view has one dimension less.
func (a *Array[T]) Index(dim, at int) *Array[T] {
	v := a.Slice(dim, at, at+1)
	v.shape = slices.Delete(v.shape, dim, dim+1)
	v.strides = slices.Delete(v.strides, dim, dim+1)
	if v.halo != nil {
		v.halo = slices.Delete(v.halo, dim, dim+1)
	}
	return v
}

// Slice is the view of the elements from, from+1, ..., to-1 along one index, whose halo is then
// dropped.
func (a *Array[T]) Slice(dim, from, to int) *Array[T] {
	if dim < 0 || dim >= len(a.shape) {
		panic(fmt.Sprintf("grid.Array: no dimension %d in shape %v", dim, a.shape))
	}
	if from < 0 || to < from || int64(to) > a.shape[dim] {
		panic(fmt.Sprintf("grid.Array: slice %d:%d of dimension %d is outside of shape %v",
			from, to, dim, a.shape))
	}
	v := a.view()
	// Views without elements keep the address: it must not leave the memory, of which there may be
	// none.
	if from < to && !slices.Contains(a.shape, 0) {
		v.data = unsafe.Add(v.data, int64(from)*v.strides[dim])
	}
	v.shape[dim] = int64(to - from)
	if v.halo != nil {
		v.halo[dim] = Halo{}
	}
	return v
}

// Transpose is the view whose dimension d is dimension order[d] of the array; without an order the
// dimensions are reversed.
func (a *Array[T]) Transpose(order ...int) *Array[T] {
	if len(order) == 0 {
		for d := range a.shape {
			order = append(order, len(a.shape)-1-d)
		}
	}
	sorted := slices.Sorted(slices.Values(order))
	for d := range a.shape {
		if len(sorted) != len(a.shape) || sorted[d] != d {
			panic(fmt.Sprintf("grid.Array: order %v does not name the %d dimensions once each",
				order, len(a.shape)))
		}
	}
	v := a.view()
	for to, from := range order {
		v.shape[to], v.strides[to] = a.shape[from], a.strides[from]
		if v.halo != nil {
			v.halo[to] = a.halo[from]
		}
	}
	return v
}

// Domain is the view without the halo.
func (a *Array[T]) Domain() *Array[T] {
	v := a
	for d, h := range a.halo {
		v = v.Slice(d, int(h.Before), int(a.shape[d]-h.After))
	}
	if v == a {
		v = a.view()
	}
	v.halo = nil
	return v
}

// view is another array over the same memory.
func (a *Array[T]) view() *Array[T] {
	if a.memory.freed.Load() {
		panic("grid.Array: it is used after Free")
	}
	return &Array[T]{
		memory: a.memory, data: a.data, shape: slices.Clone(a.shape),
		strides: slices.Clone(a.strides), halo: slices.Clone(a.halo),
	}
}

func symmetric(halo []int64) []Halo {
	if halo == nil {
		return nil
	}
	widths := make([]Halo, len(halo))
	for d, n := range halo {
		widths[d] = Halo{n, n}
	}
	return widths
}

func checkHalo(halo []Halo, shape []int64) error {
	if halo == nil {
		return nil
	}
	if len(halo) != len(shape) {
		return alloc.ErrInvalid.Errorf("halo: %d widths for %d dimensions", len(halo), len(shape))
	}
	for d, h := range halo {
		if h.Before < 0 || h.After < 0 || h.Before > shape[d] || h.After > shape[d]-h.Before {
			return alloc.ErrInvalid.Errorf("halo: widths %d and %d do not fit %d elements along "+
				"dimension %d", h.Before, h.After, shape[d], d)
		}
	}
	return nil
}

// WithHalo is a view of the same elements with other halo widths, one for each dimension.
func (a *Array[T]) WithHalo(halo ...Halo) (*Array[T], error) {
	if err := checkHalo(halo, a.shape); err != nil {
		return nil, err
	}
	v := a.view()
	v.halo = slices.Clone(halo)
	return v, nil
}
