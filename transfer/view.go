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
	Raw Type = iota
	Bool
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float16
	Float32
	Float64
	Complex64
	Complex128
)

var typeNames = [...]string{
	"raw", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
	"float16", "float32", "float64", "complex64", "complex128",
}

func (t Type) String() string {
	if t < 0 || int(t) >= len(typeNames) {
		return fmt.Sprintf("Type(%d)", int32(t))
	}
	return typeNames[t]
}

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
	if v.Type < 0 || int(v.Type) >= len(typeNames) {
		return alloc.ErrInvalid.Errorf("%s: unknown element type %d", arg, int32(v.Type))
	}
	if size := v.Type.Size(); size > 0 && v.ItemSize != 0 && v.ItemSize != size {
		return alloc.ErrInvalid.Errorf("%s: ItemSize %d; an element of type %v has %d bytes", arg, v.ItemSize, v.Type, size)
	}
	if v.Type == Raw && v.ItemSize < 0 {
		return alloc.ErrInvalid.Errorf("%s: ItemSize %d; give 0 or more bytes", arg, v.ItemSize)
	}
	if len(v.Shape) != len(v.Strides) || len(v.Shape) > MaxDims {
		return alloc.ErrInvalid.Errorf("%s: %d dimensions and %d strides; give as many of each, at most %d", arg, len(v.Shape), len(v.Strides), MaxDims)
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
