package dlpack

// #include "check.h"
import "C"

import (
	"fmt"
	"strconv"

	"gridbuf/alloc"
	"gridbuf/internal/native"
)

// Code is the kind of number an item is, with DLPack's numbers.
type Code uint8

// The codes that NumPy or ml_dtypes has a type for.
const (
	Int            Code = C.kDLInt
	UInt           Code = C.kDLUInt
	Float          Code = C.kDLFloat
	BFloat         Code = C.kDLBfloat
	Complex        Code = C.kDLComplex
	Bool           Code = C.kDLBool
	Float8E3M4     Code = C.kDLFloat8_e3m4
	Float8E4M3     Code = C.kDLFloat8_e4m3
	Float8E4M3B11  Code = C.kDLFloat8_e4m3b11fnuz
	Float8E4M3FN   Code = C.kDLFloat8_e4m3fn
	Float8E4M3FNUZ Code = C.kDLFloat8_e4m3fnuz
	Float8E5M2     Code = C.kDLFloat8_e5m2
	Float8E5M2FNUZ Code = C.kDLFloat8_e5m2fnuz
	Float8E8M0FNU  Code = C.kDLFloat8_e8m0fnu
	Float6E2M3FN   Code = C.kDLFloat6_e2m3fn
	Float6E3M2FN   Code = C.kDLFloat6_e3m2fn
	Float4E2M1FN   Code = C.kDLFloat4_e2m1fn
)

// DataType is the type of an item, in native byte order.
type DataType struct {
	Code  Code
	Bits  uint8
	Lanes uint16
}

// extended are the types of ml_dtypes under the names it gives them. The sub-byte
// ones are held one to a byte, which DLPack calls padded.
var extended = map[string]DataType{}

// kindCodes are the codes of NumPy's kinds of numbers.
var kindCodes = map[byte]Code{}

func init() {
	for _, e := range C.gb_dlpack_extended_types {
		extended[C.GoString(e.name)] = DataType{Code: Code(e.dtype.code), Bits: uint8(e.dtype.bits), Lanes: uint16(e.dtype.lanes)}
	}
	for t := C.int(C.GB_BOOL); t < C.GB_TYPES; t++ {
		if dtype := C.gb_dlpack_type_of(t); dtype.bits != 0 {
			kindCodes[byte(C.gb_type_kind(t))] = Code(dtype.code)
		}
	}
}

// TypeOf maps NumPy's kind character and item size in bytes.
func TypeOf(kind byte, itemSize int64) (DataType, error) {
	code, ok := kindCodes[kind]
	if !ok {
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: kind %q has no DLPack type; exportable are b, i, u, f and c, and the types of ml_dtypes by name", kind)
	}
	if itemSize < 1 || itemSize > 16 {
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: kind %q with %d bytes has no DLPack type", kind, itemSize)
	}
	t := DataType{code, uint8(itemSize * 8), 1}
	if t.ItemSize() == 0 {
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: kind %q with %d bytes has no DLPack type", kind, itemSize)
	}
	return t, nil
}

// TypeNamed maps the name of an ml_dtypes type, such as "bfloat16".
func TypeNamed(name string) (DataType, error) {
	t, ok := extended[name]
	if !ok {
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: %q is no type of ml_dtypes that DLPack 1.3 has", name)
	}
	return t, nil
}

// TypeOfTypestr maps a typestr of the array interface, such as "<f8". Structured,
// text, date and byte-swapped types have no DLPack type.
func TypeOfTypestr(typestr string) (DataType, error) {
	if len(typestr) < 3 {
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: %q is no typestr such as <f8", typestr)
	}
	size, err := strconv.ParseUint(typestr[2:], 10, 31)
	if err != nil {
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: %q has no DLPack type", typestr)
	}
	t, err := TypeOf(typestr[1], int64(size))
	if err != nil {
		return t, err
	}
	switch order := typestr[0]; {
	case order == '|' && size == 1, order == native.Order:
		return t, nil
	case order == '<' || order == '>':
		if size == 1 {
			return t, nil
		}
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: %q is byte-swapped; DLPack knows native byte order only: convert to %c%s first", typestr, native.Order, typestr[1:])
	}
	return DataType{}, alloc.ErrInvalid.Errorf("dtype: %q begins with no byte order; %c%s is meant in native order", typestr, native.Order, typestr[1:])
}

// Element is the type that copies and kernels know: Raw for those of ml_dtypes, which are moved.
func (t DataType) Element() alloc.Type {
	if t.Lanes != 1 {
		return alloc.Raw
	}
	return alloc.Type(C.gb_dlpack_number(t.c()))
}

// ItemSize is the bytes an item takes, or 0 for a type that cannot be read.
func (t DataType) ItemSize() int64 {
	return int64(C.gb_dlpack_itemsize(t.c(), 1))
}

func (t DataType) c() C.DLDataType {
	return C.DLDataType{code: C.uint8_t(t.Code), bits: C.uint8_t(t.Bits), lanes: C.uint16_t(t.Lanes)}
}

// subByte reports whether items are padded to a byte, which a flag has to say.
func (t DataType) subByte() bool { return t.Bits < 8 }

// Kind is NumPy's kind character, or 'V' for the types of ml_dtypes.
func (t DataType) Kind() byte {
	for kind, code := range kindCodes {
		if code == t.Code {
			return kind
		}
	}
	return 'V'
}

// String is the name that NumPy or ml_dtypes has for the type.
func (t DataType) String() string {
	for name, e := range extended {
		if e == t {
			return name
		}
	}
	names := map[Code]string{Int: "int", UInt: "uint", Float: "float", Complex: "complex"}
	if t.Code == Bool && t.Bits == 8 {
		return "bool"
	}
	if name, ok := names[t.Code]; ok && t.ItemSize() > 0 {
		return name + strconv.Itoa(int(t.Bits))
	}
	return fmt.Sprintf("code %d, %d bits, %d lanes", t.Code, t.Bits, t.Lanes)
}
