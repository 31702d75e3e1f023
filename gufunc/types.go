package gufunc

// #include "types.h"
import "C"

import (
	"strings"

	"gridbuf/alloc"
	"gridbuf/internal/message"
)

var uniformTypes = map[string]alloc.Type{
	"bool": alloc.Bool,
	"i8":   alloc.Int8, "i16": alloc.Int16, "i32": alloc.Int32, "i64": alloc.Int64,
	"u8": alloc.Uint8, "u16": alloc.Uint16, "u32": alloc.Uint32, "u64": alloc.Uint64,
	"f32": alloc.Float32, "f64": alloc.Float64,
}

// TypeOf finds a type by NumPy's type character. 'q' and 'l' are both int64 here.
func TypeOf(char byte) (alloc.Type, bool) {
	switch char {
	case 'q':
		return alloc.Int64, true
	case 'Q':
		return alloc.Uint64, true
	}
	for t := alloc.Bool; t.Known(); t++ {
		if t.Char() == char && char != ' ' {
			return t, true
		}
	}
	return alloc.Raw, false
}

// typeChars are all that TypeOf finds.
func typeChars() string {
	chars := "qQ"
	for t := alloc.Bool; t.Known(); t++ {
		if c := t.Char(); c != ' ' {
			chars += string(c)
		}
	}
	return chars
}

// CanCast reports whether every value of from is a value of to, by NumPy's rule for
// casting="safe" (in which a float64 may hold any int64).
func CanCast(from, to alloc.Type) bool {
	if from == to {
		return true
	}
	fs, ts := from.Size(), to.Size()
	switch from.Kind() {
	case 'b':
		return to.Kind() != 'b' && to != alloc.Datetime
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

var weakDefault = [...]alloc.Type{
	WeakInt: alloc.Int64, WeakFloat: alloc.Float64, WeakComplex: alloc.Complex128,
}

// casting is a rule of NumPy's by which operands may be cast.
type casting uint8

// The rules.
const (
	// safe, or within a kind, or from bool over unsigned and signed integers and floats to complex
	sameKind   casting = C.GB_GU_SAME_KIND
	noCasting  casting = C.GB_GU_NO_CASTING
	equivalent casting = C.GB_GU_EQUIVALENT // the byte order may change
	safe       casting = C.GB_GU_SAFE
	unsafeRule casting = C.GB_GU_UNSAFE
)

// String is what NumPy calls the rule.
func (c casting) String() string {
	if c > unsafeRule {
		return message.Format("Casting(%d)", uint8(c))
	}
	return C.GoString(C.gb_gu_casting_name(C.int(c)))
}

// kindOrder is NumPy's order of kinds for sameKind.
var kindOrder = map[byte]int{'b': 0, 'u': 1, 'i': 2, 'f': 3, 'c': 4}

// allows reports whether an operand may be cast to a type.
func (c casting) allows(from TypeArg, to alloc.Type) bool {
	switch c {
	case noCasting:
		return from.Type == to && !from.Swapped
	case equivalent:
		return from.Type == to
	case safe:
		return CanCast(from.Type, to)
	case sameKind:
		return CanCast(from.Type, to) || kindOrder[from.Type.Kind()] <= kindOrder[to.Kind()]
	}
	return true
}

// TypeArg is an operand as type resolution sees it.
type TypeArg struct {
	Type    alloc.Type
	Weak    Weak // a Python number; Type does not count then
	Swapped bool // memory is in the other byte order
}

// SelectKernel finds the first kernel whose inputs can take the given types by safe
// casts. Python numbers adapt to the kernel, unless their kind is above that of all
// arrays: then they count as int64, float64 or complex128.
func (g *GUFunc) SelectKernel(inputs []TypeArg) (int, error) {
	if err := g.checkArgs(inputs); err != nil {
		return 0, err
	}
	if len(inputs) != g.Signature.Inputs {
		return 0, setupError("%s: %d inputs given, %s takes %d", g.Name, len(inputs), g.Signature,
			g.Signature.Inputs)
	}
	highest, strong := -1, alloc.Raw
	for _, a := range inputs {
		if r := rank(a.Type.Kind()); a.Weak == Strong && r > highest {
			highest, strong = r, a.Type
		}
	}
	fits := func(a TypeArg, to alloc.Type) bool {
		if a.Weak == Strong {
			return CanCast(a.Type, to)
		}
		complexOfFloats := a.Weak == WeakComplex && strong.Kind() == 'f'
		if int(a.Weak) > highest && !complexOfFloats {
			return CanCast(weakDefault[a.Weak], to)
		}
		return rank(to.Kind()) >= int(a.Weak) && to.Kind() != 'M' && to.Kind() != 'm'
	}
	for n, k := range g.kernels.list() {
		ok := !k.Generated
		for i, a := range inputs {
			ok = ok && fits(a, k.Types[i])
		}
		if ok {
			return n, nil
		}
	}
	return 0, g.noKernel(inputs)
}

// selectAsked finds the first kernel that has the wanted types, one for each operand and NoType
// where any will do, and whose inputs can take the given types by the casting rule; where no such
// kernel can, the first that has the wanted types.
func (g *GUFunc) selectAsked(inputs []TypeArg, wanted []alloc.Type, rule casting) (int, error) {
	if err := g.checkArgs(inputs); err != nil {
		return 0, err
	}
	if rule > unsafeRule {
		return 0, setupError("casting: %s is no rule", rule)
	}
	if len(inputs) != g.Signature.Inputs || len(wanted) != len(g.Signature.Operands) {
		return 0, setupError("%s: %d inputs and %d wanted types given for %s", g.Name, len(inputs),
			len(wanted), g.Signature)
	}
	first := -1
	for n, k := range g.kernels.list() {
		if k.Generated {
			continue
		}
		fits := true
		for i, t := range k.Types {
			fits = fits && (wanted[i] == alloc.Raw || wanted[i] == t)
		}
		if !fits {
			continue
		}
		if first < 0 {
			first = n
		}
		reached := true
		for i, a := range inputs {
			reached = reached && (a.Weak != Strong || rule.allows(a, k.Types[i]))
		}
		if reached {
			return n, nil
		}
	}
	if first < 0 {
		return 0, setupError("%s: no kernel has the types asked for; its kernels are %s", g.Name,
			g.kernelsText())
	}
	return first, nil
}

func (g *GUFunc) noKernel(inputs []TypeArg) error {
	names := make([]string, len(inputs))
	for i, a := range inputs {
		names[i] = a.Type.String()
		if a.Weak != Strong {
			names[i] = [...]string{WeakInt: "a Python int", WeakFloat: "a Python float",
				WeakComplex: "a Python complex"}[a.Weak]
		}
	}
	return setupError("%s: no kernel takes (%s) by safe casts; its kernels are %s", g.Name,
		strings.Join(names, ", "), g.kernelsText())
}

// kernelsText lists the types of the kernels.
func (g *GUFunc) kernelsText() string {
	var have []string
	for _, k := range g.kernels.list() {
		have = append(have, typesText(k.Types, g.Signature.Inputs))
	}
	if len(have) == 0 {
		return "none"
	}
	return strings.Join(have, ", ")
}
