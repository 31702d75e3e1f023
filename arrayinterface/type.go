package arrayinterface

import (
	"math"
	"math/bits"

	"gridbuf/alloc"
	"gridbuf/internal/native"
)

// Type is the type of an item.
type Type struct {
	Kind     byte    // NumPy's: b i u f c, m M for times, S bytes, U text, V structured or plain bytes
	Order    byte    // '<', '>', or '|' where it does not matter
	ItemSize int64   // bytes
	Unit     string  // of m and M, such as "ns" or "25us"; empty for the generic unit
	Fields   []Field // of a structured V, in ascending order of offset
}

// Field is a part of a structured type.
type Field struct {
	Title, Name string
	Type        Type
	Shape       []int64 // of a sub-array; nil for a single item
	Offset      int64   // bytes
}

// Swapped reports whether the bytes of an item must be reversed before use.
func (t Type) Swapped() bool {
	for _, f := range t.Fields {
		if f.Type.Swapped() {
			return true
		}
	}
	return t.Order != '|' && t.Order != native.Order
}

// Element is the type that copies and kernels know: Raw for items that are no numbers, or in the
// other byte order.
func (t Type) Element() alloc.Type {
	if t.Swapped() || t.Unit != "" {
		return alloc.Raw
	}
	for e := alloc.Bool; e.Known(); e++ {
		if e.Kind() == t.Kind && e.Size() == t.ItemSize && e.Kind() != 'm' && e.Kind() != 'M' {
			return e
		}
	}
	return alloc.Raw
}

// Alignment is what addresses of items must be a multiple of for a plain load.
// Structured types are packed unless their fields say more.
func (t Type) Alignment() int64 {
	switch t.Kind {
	case 'c':
		return t.ItemSize / 2
	case 'U':
		return 4
	case 'S', 'V':
		align := int64(1)
		for _, f := range t.Fields {
			align = max(align, f.Type.Alignment())
		}
		return align
	}
	return t.ItemSize
}

// orderOf is the order to note for a kind: none where bytes stand for themselves.
func orderOf(kind, order byte, itemSize int64) byte {
	if kind == 'S' || kind == 'V' || itemSize == 1 {
		return '|'
	}
	return order
}

// size is the bytes a field takes, of all items of its sub-array.
func (f Field) size() (int64, bool) { return times(f.Type.ItemSize, f.Shape) }

// times multiplies a size with the entries of a shape. The zeros count as ones for
// the overflow, so that strides can be worked out too.
func times(size int64, shape []int64) (int64, bool) {
	zero := size == 0
	size = max(size, 1)
	for _, n := range shape {
		zero = zero || n == 0
		var ok bool
		if size, ok = multiply(size, max(n, 1)); !ok || n < 0 {
			return 0, false
		}
	}
	if zero {
		return 0, true
	}
	return size, true
}

// multiply is a*b for numbers that are not negative; false where it is too large.
func multiply(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi == 0 && lo <= math.MaxInt64
}

// add is a+b for numbers that are not negative; false where it is too large.
func add(a, b int64) (int64, bool) { return a + b, b <= math.MaxInt64-a }
