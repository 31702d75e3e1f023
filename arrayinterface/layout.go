package arrayinterface

import (
	"fmt"
	"math"
	"math/bits"

	"gridbuf/alloc"
)

// Layout is where the elements of an array lie: sizes, and strides in bytes.
type Layout struct {
	Shape, Strides []int64
	ItemSize       int64
}

// NewLayout checks a shape and strides and gives them back with the strides filled
// in: nil stands for C order.
func NewLayout(shape, strides []int64, itemSize int64) (Layout, error) {
	if len(shape) > alloc.MaxDims {
		return Layout{}, fmt.Errorf("shape: %d dimensions; at most %d are allowed", len(shape), alloc.MaxDims)
	}
	for i, n := range shape {
		if n < 0 {
			return Layout{}, fmt.Errorf("shape: entry %d is %d; sizes are 0 or more", i, n)
		}
	}
	if _, ok := times(itemSize, shape); !ok {
		return Layout{}, fmt.Errorf("shape: %v of %d-byte items is larger than any memory (2^63 bytes)", shape, itemSize)
	}
	l := Layout{Shape: shape, Strides: strides, ItemSize: itemSize}
	if strides == nil {
		l.Strides = cStrides(shape, itemSize)
	}
	if len(l.Strides) != len(shape) {
		return Layout{}, fmt.Errorf("strides: %d entries for a shape of %d dimensions; they must be as many", len(strides), len(shape))
	}
	_, _, err := l.Reach()
	return l, err
}

// cStrides are the strides of C order. They fit once the size of the array does.
func cStrides(shape []int64, itemSize int64) []int64 {
	strides := make([]int64, len(shape))
	step := itemSize
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= max(shape[i], 1)
	}
	return strides
}

// Size is the number of elements.
func (l Layout) Size() int64 {
	size := int64(1)
	for _, n := range l.Shape {
		size *= n
	}
	return size
}

// Reach is how far the elements go from the first one, in bytes: from low (0, or
// negative with negative strides) up to but not including high.
func (l Layout) Reach() (low, high int64, err error) {
	for _, n := range l.Shape {
		if n == 0 {
			return 0, 0, nil
		}
	}
	high = l.ItemSize
	for i, n := range l.Shape {
		hi, lo := bits.Mul64(uint64(n-1), magnitude(l.Strides[i]))
		room := uint64(math.MaxInt64) - uint64(high-low) // of what both ends may still take
		if hi != 0 || lo > room {
			return 0, 0, fmt.Errorf("strides: entry %d (%d bytes) takes %d elements over more than 2^63 bytes", i, l.Strides[i], n)
		}
		if l.Strides[i] < 0 {
			low -= int64(lo)
		} else {
			high += int64(lo)
		}
	}
	return low, high, nil
}

// At checks that the elements stay in the address space when the first one is at data.
func (l Layout) At(data uintptr) error {
	low, high, err := l.Reach()
	if err != nil {
		return err
	}
	if below := uint64(-low); below > uint64(data) || uint64(high) > math.MaxUint64-uint64(data) {
		return fmt.Errorf("strides: elements from %d to %d bytes around address %#x leave the address space", low, high, data)
	}
	return nil
}

// CContiguous reports whether the elements lie one after the other in C order, the
// last index fastest. Strides of a size of 1 do not count.
func (l Layout) CContiguous() bool {
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
	for i, s := range l.Strides {
		if l.Shape[i] > 1 {
			together |= uint64(s)
		}
	}
	return l.Size() == 0 || alignment <= 1 || together%uint64(alignment) == 0
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}
