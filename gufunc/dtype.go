package gufunc

// #include "types.h"
import "C"

import "gridbuf/alloc"

// Type is an element type: those of package alloc but Raw are what kernels can have.
type Type = alloc.Type

// The element types by their names in package alloc; NoType is none in particular.
const (
	NoType      = alloc.Raw
	Bool        = alloc.Bool
	Int8        = alloc.Int8
	Uint8       = alloc.Uint8
	Int16       = alloc.Int16
	Uint16      = alloc.Uint16
	Int32       = alloc.Int32
	Uint32      = alloc.Uint32
	Int64       = alloc.Int64
	Uint64      = alloc.Uint64
	Float16     = alloc.Float16
	Float32     = alloc.Float32
	Float64     = alloc.Float64
	LongDouble  = alloc.LongDouble
	Complex64   = alloc.Complex64
	Complex128  = alloc.Complex128
	CLongDouble = alloc.CLongDouble
	Datetime    = alloc.Datetime
	Timedelta   = alloc.Timedelta
)

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
	for t := Bool; t.Known(); t++ {
		if t.Char() == char && char != ' ' {
			return t, true
		}
	}
	return NoType, false
}

// typeChars are all that TypeOf finds.
func typeChars() string {
	chars := "qQ"
	for t := Bool; t.Known(); t++ {
		if c := t.Char(); c != ' ' {
			chars += string(c)
		}
	}
	return chars
}

// CanCast reports whether every value of from is a value of to, by NumPy's rule for
// casting="safe" (in which a float64 may hold any int64).
func CanCast(from, to Type) bool {
	if from == to {
		return true
	}
	fs, ts := from.Size(), to.Size()
	switch from.Kind() {
	case 'b':
		return to.Kind() != 'b' && to != Datetime
	case 'i', 'u':
		switch to.Kind() {
		case 'i':
			return ts > fs || ts == fs && from.Kind() == 'i'
		case 'u':
			return from.Kind() == 'u' && ts >= fs
		case 'f':
			return ts > fs || fs == 8 && ts >= 8
		case 'c':
			return ts > 2*fs || fs == 8 && ts >= 16
		case 'm':
			return from.Kind() == 'i' || fs < 8
		}
	case 'f':
		switch to.Kind() {
		case 'f':
			return ts >= fs
		case 'c':
			return ts >= 2*fs
		}
	case 'c':
		return to.Kind() == 'c' && ts >= fs
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
