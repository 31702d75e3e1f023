package alloc

import (
	"slices"
	"unsafe"
)

// View is strided host memory: what copies, sums and kernels work on.
type View struct {
	Data     unsafe.Pointer // element 0
	Type     Type
	ItemSize int64 // bytes of a Raw element; other types know theirs, and 0 will do
	Shape    []int64
	Strides  []int64 // bytes, of any sign
}

// MaxViewDims is how many dimensions a View may have.
const MaxViewDims = 64

// View describes the buffer's elements as those of a type, which has the item size of the plan.
func (b *Buffer) View(t Type) (View, error) {
	if fault := b.memory.Fault(); fault != "" {
		return View{}, ErrInvalid.Errorf("alloc.Buffer: %s", fault)
	}
	if !t.Known() {
		return View{}, ErrInvalid.Errorf("t: unknown element type %d", int32(t))
	}
	if size := t.Size(); size != b.plan.itemSize && t != Raw {
		return View{}, ErrInvalid.Errorf("t: an element of type %v has %d bytes, one of the plan "+
			"%d",
			t, size, b.plan.itemSize)
	}
	p := b.plan
	return View{b.Data(), t, p.itemSize, p.Shape(), p.Strides()}, nil
}

// ElementSize is the bytes of an element.
func (v *View) ElementSize() int64 {
	if v.Type == Raw {
		return v.ItemSize
	}
	return v.Type.Size()
}

// Check says what is wrong with a view, which the caller calls arg; nil where its elements can be
// found.
func (v *View) Check(arg string) error {
	if !v.Type.Known() {
		return ErrInvalid.Errorf("%s: unknown element type %d", arg, int32(v.Type))
	}
	if size := v.Type.Size(); size > 0 && v.ItemSize != 0 && v.ItemSize != size {
		return ErrInvalid.Errorf("%s: ItemSize %d; an element of type %v has %d bytes",
			arg, v.ItemSize, v.Type, size)
	}
	if v.Type == Raw && v.ItemSize < 0 {
		return ErrInvalid.Errorf("%s: ItemSize %d; give 0 or more bytes", arg, v.ItemSize)
	}
	if len(v.Shape) != len(v.Strides) || len(v.Shape) > MaxViewDims {
		return ErrInvalid.Errorf("%s: %d dimensions and %d strides; give as many of each, at most "+
			"%d",
			arg, len(v.Shape), len(v.Strides), int(MaxViewDims))
	}
	for i, n := range v.Shape {
		if n < 0 {
			return ErrInvalid.Errorf("%s: Shape[%d] is %d; give 0 or more", arg, i, n)
		}
	}
	if v.Data == nil && !slices.Contains(v.Shape, 0) {
		return ErrInvalid.Errorf("%s: Data is nil, and shape %v has elements", arg, v.Shape)
	}
	return nil
}
