package arrayinterface

// #include "interface.h"
import "C"

// Layout is where the elements of an array lie: sizes, and strides in bytes.
type Layout struct {
	Shape, Strides []int64
	ItemSize       int64
}

// NewLayout checks a shape and strides and gives them back with the strides filled
// in: nil stands for C order.
func NewLayout(shape, strides []int64, itemSize int64) (Layout, error) {
	var e C.gb_error
	d := Layout{Shape: shape, Strides: strides, ItemSize: itemSize}.plain()
	if C.gb_interface_layout(&d, &e) < 0 {
		return Layout{}, refusal(&e)
	}
	return filled(shape, strides, &d), nil
}

// plain is the layout as C reads it. Lists that are too long are refused for their
// length alone.
func (l Layout) plain() C.gb_interface {
	d := C.gb_interface{itemsize: C.int64_t(l.ItemSize), ndim: C.int32_t(min(len(l.Shape), 1<<20)), nstrides: -1, length: -1}
	for i, n := range l.Shape[:min(len(l.Shape), len(d.shape))] {
		d.shape[i] = C.int64_t(n)
	}
	if l.Strides == nil {
		return d
	}
	d.nstrides = C.int32_t(min(len(l.Strides), 1<<20))
	for i, n := range l.Strides[:min(len(l.Strides), len(d.strides))] {
		d.strides[i] = C.int64_t(n)
	}
	return d
}

// filled is a layout that C found sound, with its strides.
func filled(shape, strides []int64, d *C.gb_interface) Layout {
	if strides == nil {
		strides = make([]int64, len(shape))
		for i := range strides {
			strides[i] = int64(d.strides[i])
		}
	}
	return Layout{Shape: shape, Strides: strides, ItemSize: int64(d.itemsize)}
}

// Size is the number of elements.
func (l Layout) Size() int64 {
	size := int64(1)
	for _, n := range l.Shape {
		size *= n
	}
	return size
}

// CContiguous reports whether the elements lie one after the other in C order, the
// last index fastest. Strides of a size of 1 do not count.
func (l Layout) CContiguous() bool {
	if len(l.Strides) != len(l.Shape) {
		return l.Strides == nil
	}
	step := l.ItemSize
	for i := len(l.Shape) - 1; i >= 0; i-- {
		if l.Shape[i] == 0 {
			return true
		}
		if l.Shape[i] > 1 && l.Strides[i] != step {
			return l.Size() == 0
		}
		step *= l.Shape[i]
	}
	return true
}

// Aligned reports whether every element is on a multiple of alignment when the first
// one is at data.
func (l Layout) Aligned(data uintptr, alignment int64) bool {
	together := uint64(data)
	for i, s := range l.Strides[:min(len(l.Strides), len(l.Shape))] {
		if l.Shape[i] > 1 {
			together |= uint64(s)
		}
	}
	return l.Size() == 0 || alignment <= 1 || together%uint64(alignment) == 0
}
