package gufunc

// #include "types.h"
import "C"

// Type is an element type. Its numbers and what is said of each come from alloc/elements.h.
type Type uint8

// The element types that kernels can have.
const (
	NoType      Type = C.GB_RAW
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
	LongDouble  Type = C.GB_LONGDOUBLE
	Complex64   Type = C.GB_C64
	Complex128  Type = C.GB_C128
	CLongDouble Type = C.GB_CLONGDOUBLE
	Datetime    Type = C.GB_DATETIME // NumPy's datetime64: eight bytes that are passed on
	Timedelta   Type = C.GB_TIMEDELTA
	typeCount        = C.GB_TYPES
)

type typeFacts struct {
	char byte // NumPy's type character
	kind byte // b, i, u, f, c, and M, m
	size int64
	name string
}

var facts = func() (facts [typeCount]typeFacts) {
	facts[NoType].name = "none"
	for t := C.int(Bool); t < typeCount; t++ {
		facts[t] = typeFacts{
			char: byte(C.gb_type_char(t)), kind: byte(C.gb_type_kind(t)), size: int64(C.gb_type_size(t)), name: C.GoString(C.gb_type_name(t)),
		}
	}
	return facts
}()

var uniformTypes = map[string]Type{
	"bool": Bool, "i8": Int8, "i16": Int16, "i32": Int32, "i64": Int64,
	"u8": Uint8, "u16": Uint16, "u32": Uint32, "u64": Uint64, "f32": Float32, "f64": Float64,
}

// TypeOf finds a type by NumPy's type character. 'q' and 'l' are both int64 here.
func TypeOf(char byte) (Type, bool) {
	switch char {
	case 'q':
		return Int64, true
	case 'Q':
		return Uint64, true
	}
	for t := Bool; t < typeCount; t++ {
		if facts[t].char == char && char != ' ' {
			return t, true
		}
	}
	return NoType, false
}

// typeChars are all that TypeOf finds.
func typeChars() string {
	chars := "qQ"
	for t := Bool; t < typeCount; t++ {
		if facts[t].char != ' ' {
			chars += string(facts[t].char)
		}
	}
	return chars
}

// Char is NumPy's type character.
func (t Type) Char() byte { return facts[t].char }

// Size is in bytes.
func (t Type) Size() int64 { return facts[t].size }

func (t Type) String() string {
	if t >= typeCount {
		return "unknown"
	}
	return facts[t].name
}

func (t Type) kind() byte { return facts[t].kind }

// CanCast reports whether every value of from is a value of to, by NumPy's rule for
// casting="safe" (in which a float64 may hold any int64).
func CanCast(from, to Type) bool {
	if from == to {
		return true
	}
	fs, ts := from.Size(), to.Size()
	switch from.kind() {
	case 'b':
		return to.kind() != 'b' && to != Datetime
	case 'i', 'u':
		switch to.kind() {
		case 'i':
			return ts > fs || ts == fs && from.kind() == 'i'
		case 'u':
			return from.kind() == 'u' && ts >= fs
		case 'f':
			return ts > fs || fs == 8 && ts >= 8
		case 'c':
			return ts > 2*fs || fs == 8 && ts >= 16
		case 'm':
			return from.kind() == 'i' || fs < 8
		}
	case 'f':
		switch to.kind() {
		case 'f':
			return ts >= fs
		case 'c':
			return ts >= 2*fs
		}
	case 'c':
		return to.kind() == 'c' && ts >= fs
	}
	return false
}

// Weak is the kind of a Python number, which takes the type of the arrays around it
// (NEP 50).
type Weak uint8

// The kinds of weak operands.
const (
	Strong      Weak = C.GB_GU_STRONG
	WeakInt     Weak = C.GB_GU_WEAK_INT
	WeakFloat   Weak = C.GB_GU_WEAK_FLOAT
	WeakComplex Weak = C.GB_GU_WEAK_COMPLEX
)

// rank orders kinds of numbers: bool, integers, floats, complex.
func rank(kind byte) int {
	switch kind {
	case 'b':
		return 0
	case 'i', 'u', 'm', 'M':
		return 1
	case 'f':
		return 2
	}
	return 3
}

var weakDefault = [...]Type{WeakInt: Int64, WeakFloat: Float64, WeakComplex: Complex128}
