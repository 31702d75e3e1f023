package arrayinterface

import (
	"fmt"
	"strconv"
	"strings"

	"gridbuf/alloc"
)

// Format writes the type in PEP 3118's notation: a single character for native
// numbers, which is what pybind11, Cython and others compare with, and Z before a
// float for complex ones. Structures are written unaligned (^) with their padding
// spelled out, so that nobody has to guess it. Times have no format.
func (t Type) Format() (string, error) {
	if t.Fields == nil {
		return t.item("")
	}
	return t.structFormat()
}

func (t Type) structFormat() (string, error) {
	var b strings.Builder
	b.WriteString("T{")
	err := t.walk(func(f Field) error {
		if strings.Contains(f.Name, ":") {
			return alloc.ErrInvalid.Errorf("the name %q has a colon, which ends names in a format", f.Name)
		}
		text, err := f.format()
		b.WriteString(text)
		b.WriteString(":" + f.Name + ":")
		return err
	}, func(gap int64) { b.WriteString(strconv.FormatInt(gap, 10) + "x") })
	if err != nil {
		return "", fmt.Errorf("format: %w", err)
	}
	return b.String() + "}", nil
}

func (f Field) format() (string, error) {
	shape := ""
	if len(f.Shape) > 0 {
		shape = strings.ReplaceAll(strings.Trim(fmt.Sprint(f.Shape), "[]"), " ", ",")
		shape = "(" + shape + ")"
	}
	var text string
	var err error
	if f.Type.Fields != nil {
		text, err = f.Type.structFormat()
	} else {
		text, err = f.Type.item("^")
	}
	return shape + text, err
}

var writeCodes = map[string]string{
	"b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q",
	"f2": "e", "f4": "f", "f8": "d", "f16": "g", "c8": "Zf", "c16": "Zd", "c32": "Zg",
}

// item writes a type without fields after the mark for native order.
func (t Type) item(native string) (string, error) {
	order := native
	if t.Swapped() {
		order = string(t.Order)
	}
	switch t.Kind {
	case 'S':
		return order + strconv.FormatInt(t.ItemSize, 10) + "s", nil
	case 'U':
		return order + strconv.FormatInt(t.ItemSize/4, 10) + "w", nil
	case 'V':
		return order + strconv.FormatInt(t.ItemSize, 10) + "x", nil
	}
	code, ok := writeCodes[string(t.Kind)+strconv.FormatInt(t.ItemSize, 10)]
	if !ok {
		return "", alloc.ErrInvalid.Errorf("format: %s has none in the buffer protocol", t.Typestr())
	}
	if code == "g" || code == "Zg" {
		if t.Swapped() {
			return "", alloc.ErrInvalid.Errorf("format: %s has none in the buffer protocol, which knows long doubles in native order only", t.Typestr())
		}
	} else if order == "" && word == 8 && t.ItemSize == 8 && (t.Kind == 'i' || t.Kind == 'u') {
		code = map[byte]string{'i': "l", 'u': "L"}[t.Kind] // as NumPy does; everybody takes it
	}
	return order + code, nil
}
