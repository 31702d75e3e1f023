package gufunc

// Type is an element type. The numbers are those of types.h.
type Type uint8

// The element types that kernels can have.
const (
	NoType Type = iota
	Bool
	Int8
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
	Float16
	Float32
	Float64
	LongDouble
	Complex64
	Complex128
	CLongDouble
	Moment   // NumPy's datetime64: eight bytes that are passed on
	Duration // NumPy's timedelta64
	typeCount
)

type typeFacts struct {
	char byte // NumPy's type character
	name string
	size int64
	kind byte // b, i, u, f, c, and M, m
}

var facts = [typeCount]typeFacts{
	NoType: {0, "none", 0, 0}, Bool: {'?', "bool", 1, 'b'},
	Int8: {'b', "int8", 1, 'i'}, Uint8: {'B', "uint8", 1, 'u'}, Int16: {'h', "int16", 2, 'i'}, Uint16: {'H', "uint16", 2, 'u'},
	Int32: {'i', "int32", 4, 'i'}, Uint32: {'I', "uint32", 4, 'u'}, Int64: {'l', "int64", 8, 'i'}, Uint64: {'L', "uint64", 8, 'u'},
	Float16: {'e', "float16", 2, 'f'}, Float32: {'f', "float32", 4, 'f'}, Float64: {'d', "float64", 8, 'f'},
	LongDouble: {'g', "longdouble", longDoubleSize, 'f'}, Complex64: {'F', "complex64", 8, 'c'},
	Complex128: {'D', "complex128", 16, 'c'}, CLongDouble: {'G', "clongdouble", 2 * longDoubleSize, 'c'},
	Moment: {'M', "datetime64", 8, 'M'}, Duration: {'m', "timedelta64", 8, 'm'},
}

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
		if facts[t].char == char {
			return t, true
		}
	}
	return NoType, false
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
		return to.kind() != 'b' && to != Moment
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
	Strong Weak = iota
	WeakInt
	WeakFloat
	WeakComplex
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
