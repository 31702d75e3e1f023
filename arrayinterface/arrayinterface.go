package arrayinterface

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
// #include "interface.h"
import "C"

import (
	"strconv"
	"strings"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/handle"
	"gridbuf/internal/message"
	"gridbuf/internal/native"
)

// Version of the protocol that is written, and the only one that is read.
const Version = 3

// Interface mirrors the dictionary __array_interface__.
type Interface struct {
	Shape    []int64
	Typestr  string
	Data     uintptr // first of the pair data, or the start of the buffer it was
	ReadOnly bool    // second of the pair
	Buffer   bool    // data was a buffer, of Length bytes; only then may there be an Offset
	Length   int64
	Offset   int64
	Strides  []int64 // bytes; nil: C order
	Mask     bool    // there is a mask
	Version  int
}

// Description is an array, with everything filled in.
type Description struct {
	Layout
	Type     Type
	Data     uintptr // the first element
	ReadOnly bool
}

// Parse checks a dictionary of another library.
func Parse(d Interface) (Description, error) {
	var e C.gb_error
	if C.gb_interface_version(C.int64_t(d.Version), &e) < 0 {
		return Description{}, refusal(&e)
	}
	t, err := parseItem(d.Typestr)
	if err != nil {
		return Description{}, err
	}
	c := Layout{Shape: d.Shape, Strides: d.Strides, ItemSize: t.ItemSize}.plain()
	c.data, c.offset = C.uint64_t(d.Data), C.int64_t(d.Offset)
	if d.Buffer {
		c.length = C.int64_t(d.Length)
	}
	if d.Mask {
		c.mask = 1
	}
	if C.gb_interface_memory(&c, &e) < 0 {
		return Description{}, refusal(&e)
	}
	return Description{Layout: filled(d.Shape, d.Strides, &c), Type: t, Data: uintptr(c.data),
		ReadOnly: d.ReadOnly}, nil
}

// Describe writes a dictionary. Strides are left out where the array is C-contiguous,
// and there is always an address, also for an array without elements.
func Describe(d Description) (Interface, error) {
	if d.Data == 0 {
		return Interface{}, alloc.ErrInvalid.Errorf("data: the address is 0; consumers want a " +
			"valid one even for an array without elements")
	}
	out := Interface{
		Shape: d.Shape, Typestr: d.Type.Typestr(), Data: d.Data, ReadOnly: d.ReadOnly,
		Version: Version,
	}
	if !d.CContiguous() {
		out.Strides = d.Strides
	}
	if _, err := Parse(out); err != nil {
		return Interface{}, err
	}
	return out, nil
}

// DescribePlan describes memory laid out by a plan, with the first element at data.
func DescribePlan(p *alloc.Plan, t Type, data uintptr) (Description, error) {
	if t.ItemSize != p.ItemSize() {
		return Description{},
			alloc.ErrInvalid.Errorf("dtype: items of %s take %d bytes, those of the plan %d",
				t.Typestr(), t.ItemSize, p.ItemSize())
	}
	if p.Device() == alloc.GPU {
		return Description{},
			alloc.ErrInvalid.Errorf("device: the plan's memory is on the GPU; the array " +
				"interface describes host memory only")
	}
	return Description{Layout: Layout{Shape: p.Shape(), Strides: p.Strides(),
		ItemSize: p.ItemSize()}, Type: t, Data: data}, nil
}

// Aligned reports whether plain loads can read every element.
func (d Description) Aligned() bool { return d.Layout.Aligned(d.Data, d.Type.Alignment()) }

// View is the array as copies, sums and kernels take it. Items that are no numbers in this
// machine's byte order are Raw: they are moved.
func (d Description) View() (alloc.View, error) {
	v := alloc.View{
		Data: handle.Pointer(d.Data), Type: d.Type.Element(), ItemSize: d.ItemSize,
		Shape: d.Shape, Strides: d.Strides,
	}
	return v, v.Check("array")
}

// Layout is where the elements of an array lie: sizes, and strides in bytes.
type Layout struct {
	Shape, Strides []int64
	ItemSize       int64
}

// NewLayout checks a shape and strides and gives them back with the strides filled
// in: nil stands for C order.
func NewLayout(shape, strides []int64, itemSize int64) (Layout, error) {
	var e C.gb_error
	d := Layout{Shape: shape, Strides: strides, ItemSize: itemSize}.plain()
	if C.gb_interface_layout(&d, &e) < 0 {
		return Layout{}, refusal(&e)
	}
	return filled(shape, strides, &d), nil
}

// plain is the layout as C reads it. Lists that are too long are refused for their
// length alone.
func (l Layout) plain() C.gb_interface {
	d := C.gb_interface{itemsize: C.int64_t(l.ItemSize), ndim: C.int32_t(min(len(l.Shape), 1<<20)),
		nstrides: -1, length: -1}
	for i, n := range l.Shape[:min(len(l.Shape), len(d.shape))] {
		d.shape[i] = C.int64_t(n)
	}
	if l.Strides == nil {
		return d
	}
	d.nstrides = C.int32_t(min(len(l.Strides), 1<<20))
	for i, n := range l.Strides[:min(len(l.Strides), len(d.strides))] {
		d.strides[i] = C.int64_t(n)
	}
	return d
}

// filled is a layout that C found sound, with its strides.
func filled(shape, strides []int64, d *C.gb_interface) Layout {
	if strides == nil {
		strides = make([]int64, len(shape))
		for i := range strides {
			strides[i] = int64(d.strides[i])
		}
	}
	return Layout{Shape: shape, Strides: strides, ItemSize: int64(d.itemsize)}
}

// Size is the number of elements.
func (l Layout) Size() int64 {
	size := int64(1)
	for _, n := range l.Shape {
		size *= n
	}
	return size
}

// CContiguous reports whether the elements lie one after the other in C order, the
// last index fastest. Strides of a size of 1 do not count.
func (l Layout) CContiguous() bool {
	if len(l.Strides) != len(l.Shape) {
		return l.Strides == nil
	}
	step := l.ItemSize
	for i := len(l.Shape) - 1; i >= 0; i-- {
		if l.Shape[i] == 0 {
			return true
		}
		if l.Shape[i] > 1 && l.Strides[i] != step {
			return l.Size() == 0
		}
		step *= l.Shape[i]
	}
	return true
}

// Aligned reports whether every element is on a multiple of alignment when the first
// one is at data.
func (l Layout) Aligned(data uintptr, alignment int64) bool {
	together := uint64(data)
	for i, s := range l.Strides[:min(len(l.Strides), len(l.Shape))] {
		if l.Shape[i] > 1 {
			together |= uint64(s)
		}
	}
	return l.Size() == 0 || alignment <= 1 || together%uint64(alignment) == 0
}

// Type is the type of an item.
type Type struct {
	// NumPy's: b i u f c, m M for times, S bytes, U text, V bytes, also those of a structure
	Kind     byte
	Order    byte   // '<', '>', or '|' where it does not matter
	ItemSize int64  // bytes
	Unit     string // of m and M, such as "ns" or "25us"; empty for the generic unit
}

// Swapped reports whether the bytes of an item must be reversed before use.
func (t Type) Swapped() bool {
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
func (t Type) Alignment() int64 {
	switch t.Kind {
	case 'c':
		return t.ItemSize / 2
	case 'U':
		return 4
	case 'S', 'V':
		return 1
	}
	return t.ItemSize
}

// ParseTypestr reads a typestr such as "<f8", "|b1", "<U5" or "<M8[ns]": byte order,
// kind, size, and the unit of a time. Python objects ("|O") and bit fields are refused.
func ParseTypestr(s string) (Type, error) {
	var item C.gb_interface_item_type
	var e C.gb_error
	if C.gb_interface_typestr(chars(s), C.size_t(len(s)), &item, &e) < 0 {
		return Type{}, refusal(&e)
	}
	return typeOf(s, &item), nil
}

// parseItem is ParseTypestr for the items of an array, which have bytes.
func parseItem(s string) (Type, error) {
	var item C.gb_interface_item_type
	var e C.gb_error
	if C.gb_interface_item(chars(s), C.size_t(len(s)), &item, &e) < 0 {
		return Type{}, refusal(&e)
	}
	return typeOf(s, &item), nil
}

func typeOf(s string, item *C.gb_interface_item_type) Type {
	t := Type{Kind: byte(item.kind), Order: byte(item.order), ItemSize: int64(item.size)}
	if item.unit != 0 {
		t.Unit = strings.TrimSuffix(s[item.unit:], "]")
		if name, one := strings.CutPrefix(t.Unit, "1"); one &&
			strings.Trim(name, "0123456789") == name {
			t.Unit = name
		}
	}
	return t
}

// chars lends a string to C.
func chars(s string) *C.char { return (*C.char)(unsafe.Pointer(unsafe.StringData(s))) }

func refusal(e *C.gb_error) error {
	return &alloc.Error{Kind: alloc.Kind(e.kind), Message: message.Text(e.message[:])}
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
