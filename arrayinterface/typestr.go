package arrayinterface

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParseTypestr reads a typestr such as "<f8", "|b1", "<U5" or "<M8[ns]": byte order,
// kind, size, and the unit of a time. The fields of a "|V12" come separately, see
// [ParseDescr]. Python objects ("|O") and bit fields are refused.
func ParseTypestr(s string) (Type, error) {
	if len(s) < 2 {
		return Type{}, fmt.Errorf("typestr: %q is too short; a byte order, a kind and a size are needed, such as <f8", s)
	}
	order, kind, rest := s[0], s[1], s[2:]
	if order != '<' && order != '>' && order != '|' {
		return Type{}, fmt.Errorf("typestr: %q begins with %q; allowed are <, > and |", s, order)
	}
	switch {
	case kind == 'O':
		return Type{}, fmt.Errorf("typestr: %q holds Python objects, which cannot be shared as memory", s)
	case !strings.ContainsRune("biufcmMSUV", rune(kind)):
		return Type{}, fmt.Errorf("typestr: %q has kind %q; allowed are b, i, u, f, c, m, M, S, U and V", s, kind)
	}
	t := Type{Kind: kind, Order: order}
	digits, unit, hasUnit := strings.Cut(rest, "[")
	size, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(size, 10) != digits || size < 0 {
		return Type{}, fmt.Errorf("typestr: %q has size %q; a number of bytes (for U, of characters) is needed", s, digits)
	}
	if hasUnit {
		if err := t.setUnit(s, unit); err != nil {
			return Type{}, err
		}
	}
	return t, t.setSize(s, size)
}

func (t *Type) setSize(s string, size int64) error {
	allowed, fixed := sizes[t.Kind]
	if fixed && !slices.Contains(allowed, size) {
		return fmt.Errorf("typestr: %q has size %d; kind %c can have %v bytes", s, size, t.Kind, allowed)
	}
	if t.Kind == 'U' {
		var ok bool
		if size, ok = multiply(size, 4); !ok {
			return fmt.Errorf("typestr: %q is larger than any memory (2^63 bytes)", s)
		}
	}
	t.ItemSize = size
	if fixed && t.Order == '|' && size > 1 {
		return fmt.Errorf("typestr: %q does not say its byte order; < or > is needed for more than one byte", s)
	}
	if t.Kind == 'U' && t.Order == '|' {
		t.Order = Native
	}
	t.Order = orderOf(t.Kind, t.Order, size)
	return nil
}

var units = []string{"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"}

// setUnit reads what follows the bracket: a multiple, a unit and the other bracket.
func (t *Type) setUnit(s, unit string) error {
	if t.Kind != 'm' && t.Kind != 'M' {
		return fmt.Errorf("typestr: %q has a unit; only the times m and M have", s)
	}
	unit, closed := strings.CutSuffix(unit, "]")
	name := strings.TrimLeft(unit, "0123456789")
	multiple := unit[:len(unit)-len(name)]
	if n, err := strconv.ParseInt(multiple, 10, 32); multiple != "" && (err != nil || strconv.FormatInt(n, 10) != multiple) {
		closed = false
	}
	if !closed || !slices.Contains(units, name) {
		return fmt.Errorf("typestr: %q has unit %q; allowed are %s, with a whole multiple before them", s, unit, strings.Join(units, ", "))
	}
	t.Unit = unit
	if multiple == "1" {
		t.Unit = name
	}
	return nil
}

// Typestr writes the type as [ParseTypestr] reads it.
func (t Type) Typestr() string {
	size := t.ItemSize
	if t.Kind == 'U' {
		size /= 4
	}
	s := string([]byte{t.Order, t.Kind}) + strconv.FormatInt(size, 10)
	if t.Unit != "" {
		s += "[" + t.Unit + "]"
	}
	return s
}
