package transfer

// #include "transfer.h"
import "C"

import (
	"fmt"
	"unsafe"

	"gridbuf/alloc"
)

// Type says what an element is.
type Type int32

// The element types. Elements of type Raw are moved and never converted; they may
// have any size, and stand for byte-swapped numbers, dates, records and the rest.
const (
	Raw        Type = C.GB_RAW
	Bool       Type = C.GB_BOOL
	Int8       Type = C.GB_I8
	Int16      Type = C.GB_I16
	Int32      Type = C.GB_I32
	Int64      Type = C.GB_I64
	Uint8      Type = C.GB_U8
	Uint16     Type = C.GB_U16
	Uint32     Type = C.GB_U32
	Uint64     Type = C.GB_U64
	Float16    Type = C.GB_F16
	Float32    Type = C.GB_F32
	Float64    Type = C.GB_F64
	Complex64  Type = C.GB_C64
	Complex128 Type = C.GB_C128
)

func (t Type) String() string {
	switch {
	case t == Raw:
		return "raw"
	case t.known():
		return C.GoString(C.gb_type_name(C.int(t)))
	}
	return fmt.Sprintf("Type(%d)", int32(t))
}

// known says that a View may have the type.
func (t Type) known() bool { return t == Raw || C.gb_copy_converts(C.int(t)) != 0 }

// Size is the bytes of an element, 0 for Raw.
func (t Type) Size() int64 { return int64(C.gb_type_size(C.int(t))) }

// MaxDims is how many dimensions a View may have.
const MaxDims = C.GB_COPY_DIMS

// View is an array in memory that Go does not manage.
type View struct {
	Data     unsafe.Pointer // element 0
	Type     Type
	ItemSize int64 // of Raw elements; other types know theirs
	Shape    []int64
	Strides  []int64 // bytes
}

func (v *View) check(arg string) error {
	if !v.Type.known() {
		return alloc.ErrInvalid.Errorf("%s: unknown element type %d", arg, int32(v.Type))
	}
	if size := v.Type.Size(); size > 0 && v.ItemSize != 0 && v.ItemSize != size {
		return alloc.ErrInvalid.Errorf("%s: ItemSize %d; an element of type %v has %d bytes", arg, v.ItemSize, v.Type, size)
	}
	if v.Type == Raw && v.ItemSize < 0 {
		return alloc.ErrInvalid.Errorf("%s: ItemSize %d; give 0 or more bytes", arg, v.ItemSize)
	}
	if len(v.Shape) != len(v.Strides) || len(v.Shape) > MaxDims {
		return alloc.ErrInvalid.Errorf("%s: %d dimensions and %d strides; give as many of each, at most %d", arg, len(v.Shape), len(v.Strides), int(MaxDims))
	}
	for i, n := range v.Shape {
		if n < 0 {
			return alloc.ErrInvalid.Errorf("%s: Shape[%d] is %d; give 0 or more", arg, i, n)
		}
	}
	return nil
}

func (v *View) itemSize() int64 {
	if v.Type == Raw {
		return v.ItemSize
	}
	return v.Type.Size()
}
