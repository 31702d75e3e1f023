package arrayinterface

// #include "interface.h"
import "C"

import (
	"gridbuf/alloc"
	"gridbuf/internal/handle"
)

// Version of the protocol that is written, and the only one that is read.
const Version = 3

// Interface mirrors the dictionary __array_interface__.
type Interface struct {
	Shape    []int64
	Typestr  string
	Descr    []Descr // only looked at where typestr has kind V
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

// Parse checks a dictionary that somebody else wrote.
func Parse(d Interface) (Description, error) {
	var e C.gb_error
	if C.gb_interface_version(C.int64_t(d.Version), &e) < 0 {
		return Description{}, refusal(&e)
	}
	t, err := ParseType(d.Typestr, d.Descr)
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
	return Description{Layout: filled(d.Shape, d.Strides, &c), Type: t, Data: uintptr(c.data), ReadOnly: d.ReadOnly}, nil
}

// ParseType reads a typestr together with the descr that names the fields of a
// structured one. A descr of one nameless entry says nothing more, as NumPy writes it
// for every plain type.
func ParseType(typestr string, descr []Descr) (Type, error) {
	t, err := parseItem(typestr)
	if err != nil || t.Kind != 'V' || len(descr) == 0 || len(descr) == 1 && descr[0].Name == "" {
		return t, err
	}
	return ParseDescr(descr, t.ItemSize)
}

// Describe writes a dictionary. Strides are left out where the array is C-contiguous,
// and there is always an address, also for an array without elements.
func Describe(d Description) (Interface, error) {
	if d.Data == 0 {
		return Interface{}, alloc.ErrInvalid.Errorf("data: the address is 0; consumers want a valid one even for an array without elements")
	}
	out := Interface{
		Shape: d.Shape, Typestr: d.Type.Typestr(), Data: d.Data, ReadOnly: d.ReadOnly, Version: Version,
	}
	if !d.CContiguous() {
		out.Strides = d.Strides
	}
	if d.Type.Fields != nil {
		descr, err := d.Type.Descr()
		if err != nil {
			return Interface{}, err
		}
		out.Descr = descr
	}
	if _, err := Parse(out); err != nil {
		return Interface{}, err
	}
	return out, nil
}

// DescribePlan describes memory laid out by a plan, with the first element at data.
func DescribePlan(p *alloc.Plan, t Type, data uintptr) (Description, error) {
	if t.ItemSize != p.ItemSize() {
		return Description{}, alloc.ErrInvalid.Errorf("dtype: items of %s take %d bytes, those of the plan %d", t.Typestr(), t.ItemSize, p.ItemSize())
	}
	if p.Device() == alloc.GPU {
		return Description{}, alloc.ErrInvalid.Errorf("device: the plan's memory is on the GPU; the array interface describes host memory only")
	}
	return Description{Layout: Layout{Shape: p.Shape(), Strides: p.Strides(), ItemSize: p.ItemSize()}, Type: t, Data: data}, nil
}

// Aligned reports whether plain loads can read every element.
func (d Description) Aligned() bool { return d.Layout.Aligned(d.Data, d.Type.Alignment()) }

// View is the array as copies, sums and kernels take it. Items that are no numbers in this machine's
// byte order are Raw: they are moved.
func (d Description) View() (alloc.View, error) {
	v := alloc.View{
		Data: handle.Pointer(d.Data), Type: d.Type.Element(), ItemSize: d.ItemSize,
		Shape: d.Shape, Strides: d.Strides,
	}
	return v, v.Check("array")
}
