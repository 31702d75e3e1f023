package alloc

// #include "elements.h"
import "C"

import (
	"slices"
	"unsafe"

	"gridbuf/internal/message"
)

// Type is the type of an element, in all packages of this module.
type Type int32

// The element types. Elements of type Raw are moved and never converted; they may have any size,
// and stand for byte-swapped numbers, records and the rest.
const (
	Raw         Type = C.GB_RAW
	Bool        Type = C.GB_BOOL
	Int8        Type = C.GB_I8
	Uint8       Type = C.GB_U8
	Int16       Type = C.GB_I16
	Uint16      Type = C.GB_U16
	Int32       Type = C.GB_I32
	Uint32      Type = C.GB_U32
	Int64       Type = C.GB_I64
	Uint64      Type = C.GB_U64
	Float16     Type = C.GB_F16
	Float32     Type = C.GB_F32
	Float64     Type = C.GB_F64
	LongDouble  Type = C.GB_LONGDOUBLE // of C: 80 bits in 16 bytes on x86
	Complex64   Type = C.GB_C64
	Complex128  Type = C.GB_C128
	CLongDouble Type = C.GB_CLONGDOUBLE
	Datetime    Type = C.GB_DATETIME // NumPy's datetime64: eight bytes that are passed on
	Timedelta   Type = C.GB_TIMEDELTA
	typeCount        = C.GB_TYPES
)

// typeFacts are what is said of each type; those of Raw are zeros.
var typeFacts = func() (facts [typeCount]struct {
	name       string
	size       int64
	char, kind byte
}) {
	facts[Raw].name = "raw"
	for t := Bool; t < typeCount; t++ {
		c := C.int(t)
		facts[t].name, facts[t].size = C.GoString(C.gb_type_name(c)), int64(C.gb_type_size(c))
		facts[t].char, facts[t].kind = byte(C.gb_type_char(c)), byte(C.gb_type_kind(c))
	}
	return facts
}()

// Known says that there is such a type: any number converts to a Type.
func (t Type) Known() bool { return t >= Raw && t < typeCount }

func (t Type) String() string {
	if !t.Known() {
		return message.Format("Type(%d)", int32(t))
	}
	return typeFacts[t].name
}

// Size is the bytes of an element; 0 of Raw, whose elements have any, and of an unknown type.
func (t Type) Size() int64 {
	if !t.Known() {
		return 0
	}
	return typeFacts[t].size
}

// Char is NumPy's character for the type, such as 'd'; 0 of Raw and of an unknown type.
func (t Type) Char() byte {
	if !t.Known() {
		return 0
	}
	return typeFacts[t].char
}

// Kind is NumPy's kind: b, i, u, f, c, and M and m for times; 0 of Raw and of an unknown type.
func (t Type) Kind() byte {
	if !t.Known() {
		return 0
	}
	return typeFacts[t].kind
}

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
