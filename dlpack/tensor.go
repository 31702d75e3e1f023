package dlpack

// #include "dlpack.h"
import "C"

import (
	"math/bits"

	"gridbuf/alloc"
	"gridbuf/internal/handle"
)

// Version is the version of DLPack a managed tensor was made for.
type Version struct{ Major, Minor uint32 }

// Flags say more about a versioned tensor.
type Flags uint64

// The flags of DLPack 1.3.
const (
	ReadOnly      Flags = C.DLPACK_FLAG_BITMASK_READ_ONLY
	IsCopied      Flags = C.DLPACK_FLAG_BITMASK_IS_COPIED
	SubBytePadded Flags = C.DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
)

// Tensor describes memory: what is exported, and what an import was found to be.
type Tensor struct {
	Data     uintptr // the first element
	Device   Device
	DataType DataType
	Shape    []int64
	Strides  []int64 // bytes; nil: C order
	Flags    Flags
}

// Size is the number of elements.
func (t *Tensor) Size() int64 {
	size := int64(1)
	for _, n := range t.Shape {
		size *= n
	}
	return size
}

// Aligned reports whether every element sits on a multiple of its size, up to 16
// bytes, as ordinary loads want it. A complex number needs only what its parts need.
func (t *Tensor) Aligned() bool {
	to := t.DataType.ItemSize()
	if t.DataType.Code == Complex {
		to /= 2
	}
	low := uint64(t.Data)
	for i, s := range t.Strides[:min(len(t.Strides), len(t.Shape))] {
		if t.Shape[i] > 1 {
			low |= uint64(s)
		}
	}
	return t.Size() == 0 || int64(1)<<min(bits.TrailingZeros64(low), 62) >= to
}

// View is the tensor as copies, sums and kernels take it; memory that the host cannot read is
// refused. Flags says whether it may be written.
func (t *Tensor) View() (alloc.View, error) {
	if !t.Device.Type.OnHost() {
		return alloc.View{}, alloc.ErrInvalid.Errorf("device: %s is no memory of the host", t.Device)
	}
	size := t.DataType.ItemSize()
	if size == 0 {
		return alloc.View{}, alloc.ErrInvalid.Errorf("dtype: %s cannot be read", t.DataType)
	}
	strides := t.Strides
	if strides == nil {
		strides = make([]int64, len(t.Shape))
		step := size
		for i := len(t.Shape) - 1; i >= 0; i-- {
			strides[i] = step
			step *= max(t.Shape[i], 1)
		}
	}
	v := alloc.View{
		Data: handle.Pointer(t.Data), Type: t.DataType.Element(), ItemSize: size, Shape: t.Shape, Strides: strides,
	}
	return v, v.Check("tensor")
}
