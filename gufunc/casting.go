package gufunc

// #include "types.h"
import "C"

import "gridbuf/internal/message"

// Casting is a rule of NumPy's by which operands may be cast.
type Casting uint8

// The rules.
const (
	SameKind   Casting = C.GB_GU_SAME_KIND // safe, or within a kind, or from bool over unsigned and signed integers and floats to complex
	NoCasting  Casting = C.GB_GU_NO_CASTING
	Equivalent Casting = C.GB_GU_EQUIVALENT // the byte order may change
	Safe       Casting = C.GB_GU_SAFE
	Unsafe     Casting = C.GB_GU_UNSAFE
)

// String is what NumPy calls the rule.
func (c Casting) String() string {
	if c > Unsafe {
		return message.Format("Casting(%d)", uint8(c))
	}
	return C.GoString(C.gb_gu_casting_name(C.int(c)))
}

// kindOrder is NumPy's order of kinds for SameKind.
var kindOrder = map[byte]int{'b': 0, 'u': 1, 'i': 2, 'f': 3, 'c': 4}

// Allows reports whether an operand may be cast to a type.
func (c Casting) Allows(from TypeArg, to Type) bool {
	switch c {
	case NoCasting:
		return from.Type == to && !from.Swapped
	case Equivalent:
		return from.Type == to
	case Safe:
		return CanCast(from.Type, to)
	case SameKind:
		return CanCast(from.Type, to) || kindOrder[from.Type.Kind()] <= kindOrder[to.Kind()]
	}
	return true
}
