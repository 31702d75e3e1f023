package arrayinterface

import (
	"errors"
	"fmt"

	"gridbuf/alloc"
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
	if d.Version != Version {
		return Description{}, fmt.Errorf("version: %d; only %d is read", d.Version, Version)
	}
	if d.Mask {
		return Description{}, errors.New("mask: masked arrays are not taken; give the data without mask, or fill it")
	}
	t, err := ParseType(d.Typestr, d.Descr)
	if err != nil {
		return Description{}, err
	}
	layout, err := NewLayout(d.Shape, d.Strides, t.ItemSize)
	if err != nil {
		return Description{}, err
	}
	out := Description{Layout: layout, Type: t, Data: d.Data, ReadOnly: d.ReadOnly}
	if err := out.place(d); err != nil {
		return Description{}, err
	}
	return out, nil
}

// place finds the first element and checks that all of them lie in memory.
func (out *Description) place(d Interface) error {
	if !d.Buffer && d.Offset != 0 {
		return fmt.Errorf("offset: %d; one is allowed only where data is a buffer, not an address", d.Offset)
	}
	if d.Buffer {
		if err := out.within(d); err != nil {
			return err
		}
		out.Data += uintptr(d.Offset)
	}
	if d.Data == 0 && out.Size() > 0 {
		return errors.New("data: the address is 0 for an array that has elements")
	}
	return out.At(out.Data)
}

// within checks that the elements lie in the buffer that data was.
func (out *Description) within(d Interface) error {
	if d.Offset < 0 || d.Offset > d.Length {
		return fmt.Errorf("offset: %d; the buffer has %d bytes", d.Offset, d.Length)
	}
	low, high, err := out.Reach()
	if err != nil {
		return err
	}
	if low < -d.Offset || high > d.Length-d.Offset {
		return fmt.Errorf("data: the elements reach from %d to %d bytes around offset %d of a buffer of %d bytes", low, high, d.Offset, d.Length)
	}
	return nil
}

// ParseType reads a typestr together with the descr that names the fields of a
// structured one. A descr of one nameless entry says nothing more, as NumPy writes it
// for every plain type.
func ParseType(typestr string, descr []Descr) (Type, error) {
	t, err := ParseTypestr(typestr)
	if err != nil || t.Kind != 'V' || len(descr) == 0 || len(descr) == 1 && descr[0].Name == "" {
		return t, err
	}
	return ParseDescr(descr, t.ItemSize)
}

// Describe writes a dictionary. Strides are left out where the array is C-contiguous,
// and there is always an address, also for an array without elements.
func Describe(d Description) (Interface, error) {
	if d.Data == 0 {
		return Interface{}, errors.New("data: the address is 0; consumers want a valid one even for an array without elements")
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
	if t.ItemSize != p.ItemSize {
		return Description{}, fmt.Errorf("dtype: items of %s take %d bytes, those of the plan %d", t.Typestr(), t.ItemSize, p.ItemSize)
	}
	if p.Device == alloc.GPU {
		return Description{}, errors.New("device: the plan's memory is on the GPU; the array interface describes host memory only")
	}
	return Description{Layout: Layout{p.Shape, p.Strides, p.ItemSize}, Type: t, Data: data}, nil
}

// Aligned reports whether plain loads can read every element.
func (d Description) Aligned() bool { return d.Layout.Aligned(d.Data, d.Type.Alignment()) }
