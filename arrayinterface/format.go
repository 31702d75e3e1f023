package arrayinterface

import (
	"strconv"

	"gridbuf/internal/native"
)

// formatCode is what a character of a buffer format stands for.
type formatCode struct {
	kind             byte
	native, standard int64 // bytes; 0: has none
}

// word is the size of C's long, which is a pointer's on the machines NumPy calls LP64.
const word = strconv.IntSize / 8

var formatCodes = map[byte]formatCode{
	'?': {kind: 'b', native: 1, standard: 1},
	'b': {kind: 'i', native: 1, standard: 1},
	'B': {kind: 'u', native: 1, standard: 1},
	'h': {kind: 'i', native: 2, standard: 2},
	'H': {kind: 'u', native: 2, standard: 2},
	'i': {kind: 'i', native: 4, standard: 4},
	'I': {kind: 'u', native: 4, standard: 4},
	'l': {kind: 'i', native: word, standard: 4},
	'L': {kind: 'u', native: word, standard: 4},
	'q': {kind: 'i', native: 8, standard: 8},
	'Q': {kind: 'u', native: 8, standard: 8},
	'n': {kind: 'i', native: word},
	'N': {kind: 'u', native: word},
	'e': {kind: 'f', native: 2, standard: 2},
	'f': {kind: 'f', native: 4, standard: 4},
	'd': {kind: 'f', native: 8, standard: 8},
	'g': {kind: 'f', native: 16},
	'c': {kind: 'S', native: 1, standard: 1},
	's': {kind: 'S', native: 1, standard: 1},
	'w': {kind: 'U', native: 4, standard: 4},
	'x': {kind: 'V', native: 1, standard: 1},
}

// formatReader walks through a format. The byte order holds until another is given,
// in and out of structures, as NumPy has it.
type formatReader struct {
	format string
	at     int
	order  byte
	packed int64 // where the structure read last ends, without alignment's padding
	inner  int64 // the same for the one read before it, which lies in it
}

// ParseFormat reads a PEP 3118 format such as "d", ">i", "Zd", "5s" or "T{d:a:i:b:}",
// of items of itemSize bytes. Structured items may lack the padding that native
// alignment puts at their end, because NumPy writes both alike.
func ParseFormat(format string, itemSize int64) (Type, error) {
	r := formatReader{format: format, order: '@'}
	t, err := r.structure(0)
	if err != nil {
		return Type{}, err
	}
	if r.at < len(format) {
		return Type{}, r.errorf("} closes nothing")
	}
	if format == "" {
		return Type{}, r.errorf("it is empty")
	}
	if only, ok := t.bare(r.packed); ok {
		if only.Shape != nil {
			return Type{}, r.errorf("a sub-array is not an item; its sizes belong to the shape")
		}
		if t = only.Type; t.Kind == 'V' {
			r.packed = r.inner
		}
	} else if err := t.nameFields(); err != nil {
		return Type{}, r.errorf("%v", err)
	}
	if itemSize != t.ItemSize && itemSize != r.packed {
		return Type{}, r.errorf("it takes %d bytes, and itemsize says %d", t.ItemSize, itemSize)
	}
	t.ItemSize = itemSize
	return t, nil
}

// bare gives the only field of what is no structure but one item without a name.
func (t Type) bare(end int64) (Field, bool) {
	if len(t.Fields) != 1 || t.Fields[0].Name != "" {
		return Field{}, false
	}
	size, _ := t.Fields[0].size()
	return t.Fields[0], size == end
}

// structure reads fields up to a closing brace or the end.
func (r *formatReader) structure(depth int) (Type, error) {
	t := Type{Kind: 'V', Order: '|'}
	if depth == maxNesting {
		return t, r.errorf("more than %d structures in one another", maxNesting)
	}
	common := int64(1)
	for r.at < len(r.format) && r.format[r.at] != '}' {
		f, padding, err := r.field(depth)
		if err != nil {
			return t, err
		}
		if r.order == '@' && !padding {
			align := max(f.Type.Alignment(), 1)
			common = max(common, align)
			t.ItemSize = roundUp(t.ItemSize, align)
		}
		size, fits := f.size()
		f.Offset = t.ItemSize
		end, ok := add(t.ItemSize, size)
		if !fits || !ok || end > maxItem {
			return t, r.errorf("the item is larger than any memory (2^62 bytes)")
		}
		if t.ItemSize = end; !padding {
			t.Fields = append(t.Fields, f)
		}
	}
	r.inner, r.packed = r.packed, t.ItemSize
	if r.order == '@' {
		t.ItemSize = roundUp(t.ItemSize, common)
	}
	return t, nil
}

// maxItem keeps roundUp below 2^63.
const maxItem = 1 << 62

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// field reads one field: shape, byte order, count, code, name. padding is true for x
// without a name.
func (r *formatReader) field(depth int) (f Field, padding bool, err error) {
	if f.Shape, err = r.shape(); err != nil {
		return f, false, err
	}
	if c := r.peek(); c == '@' || c == '=' || c == '<' || c == '>' || c == '!' || c == '^' {
		r.order = c
		r.at++
	}
	count, counted, err := r.number()
	if err != nil {
		return f, false, err
	}
	code := r.peek()
	r.at++
	switch {
	case code == 'T' && r.peek() == '{':
		r.at++
		if f.Type, err = r.structure(depth + 1); err == nil && r.peek() != '}' {
			err = r.errorf("T{ is not closed")
		}
		if err == nil {
			err = f.Type.nameFields()
		}
		r.at++
	default:
		f.Type, err = r.scalar(code)
	}
	if err != nil {
		return f, false, err
	}
	switch {
	case counted && (code == 's' || code == 'w' || code == 'x'):
		var ok bool
		if f.Type.ItemSize, ok = multiply(f.Type.ItemSize, count); !ok {
			return f, false, r.errorf("the item is larger than any memory (2^63 bytes)")
		}
		f.Type.Order = orderOf(f.Type.Kind, f.Type.Order, f.Type.ItemSize)
	case counted:
		f.Shape = append(f.Shape, count)
	}
	f.Name, err = r.name()
	return f, code == 'x' && f.Name == "" && f.Shape == nil, err
}

// scalar reads what a code stands for under the byte order in force.
func (r *formatReader) scalar(code byte) (Type, error) {
	complex := code == 'Z'
	if complex {
		code = r.peek()
		r.at++
	}
	c, ok := formatCodes[code]
	if !ok || complex && (c.kind != 'f' || code == 'e') {
		r.at--
		return Type{}, r.errorf("%q is not a type that memory can be shared as", code)
	}
	t := Type{Kind: c.kind, Order: native.Order, ItemSize: c.native}
	switch r.order {
	case '<':
		t.Order, t.ItemSize = '<', c.standard
	case '>', '!':
		t.Order, t.ItemSize = '>', c.standard
	case '=':
		t.ItemSize = c.standard
	}
	if t.ItemSize == 0 {
		return Type{}, r.errorf("%q has a size in native mode only", code)
	}
	if complex {
		t.Kind, t.ItemSize = 'c', 2*t.ItemSize
	}
	t.Order = orderOf(t.Kind, t.Order, t.ItemSize)
	return t, nil
}
