package alloc

// #include "elements.h"
import "C"

import "gridbuf/internal/message"

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
