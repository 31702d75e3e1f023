package gufunc

import "gridbuf/internal/message"

// Casting is a rule of NumPy's by which operands may be cast.
type Casting uint8

// The rules, in the order in which the extension numbers them.
const (
	SameKind Casting = iota // safe, or within a kind, or from bool over unsigned and signed integers and floats to complex
	NoCasting
	Equivalent // the byte order may change
	Safe
	Unsafe
)

// String is what NumPy calls the rule.
func (c Casting) String() string {
	if c > Unsafe {
		return message.Format("Casting(%d)", uint8(c))
	}
	return [...]string{"same_kind", "no", "equiv", "safe", "unsafe"}[c]
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
		return CanCast(from.Type, to) || kindOrder[from.Type.kind()] <= kindOrder[to.kind()]
	}
	return true
}
