package arrayinterface

import (
	"fmt"

	"gridbuf/alloc"
)

// Descr is one entry of the descr list that names the fields of a structured type:
// (name, typestr), (name, typestr, shape), with a nested list in place of typestr
// for a structured field. An entry without a name is padding.
type Descr struct {
	Title, Name string
	Typestr     string
	Nested      []Descr
	Shape       []int64
}

// maxNesting is how deeply structured types may lie in one another. Nobody's go further, and a hostile one must not use up the stack.
// gridbuf/wrapping.py has the same rules for Python's lists; testdata/refused.jsonl holds both to the same words.
const maxNesting = 16

// ParseDescr reads the fields of a structured type of itemSize bytes.
func ParseDescr(list []Descr, itemSize int64) (Type, error) {
	t, err := parseDescr(list, 0)
	if err == nil && t.ItemSize != itemSize {
		err = alloc.ErrInvalid.Errorf("descr: the fields take %d bytes; typestr says %d", t.ItemSize, itemSize)
	}
	return t, err
}

func parseDescr(list []Descr, depth int) (Type, error) {
	t := Type{Kind: 'V', Order: '|'}
	if depth == maxNesting {
		return t, alloc.ErrInvalid.Errorf("descr: more than %d structured types in one another", maxNesting)
	}
	seen := map[string]bool{}
	for i, d := range list {
		f := Field{Title: d.Title, Name: d.Name, Shape: d.Shape, Offset: t.ItemSize}
		var err error
		if d.Nested != nil {
			f.Type, err = parseDescr(d.Nested, depth+1)
		} else {
			f.Type, err = ParseTypestr(d.Typestr)
		}
		if err == nil {
			t.ItemSize, err = f.end()
		}
		if err != nil {
			return t, fmt.Errorf("descr: field %q: %w", d.Name, err)
		}
		if d.Name == "" && f.Type.Kind == 'V' && f.Type.Fields == nil {
			continue // padding
		}
		if f.Name == "" {
			f.Name = fmt.Sprintf("f%d", i) // as NumPy does
		}
		for _, name := range []string{f.Title, f.Name} { // a title is a second name
			if name != "" && seen[name] {
				return t, alloc.ErrInvalid.Errorf("descr: entry %d has name %q; every field needs one of its own", i, name)
			}
			seen[name] = true
		}
		t.Fields = append(t.Fields, f)
	}
	return t, nil
}

// end is where a field ends that begins at its offset.
func (f Field) end() (int64, error) {
	for _, n := range f.Shape {
		if n < 0 {
			return 0, alloc.ErrInvalid.Errorf("shape has a negative entry, %d", n)
		}
	}
	if size, ok := f.size(); ok {
		if end, ok := add(f.Offset, size); ok {
			return end, nil
		}
	}
	return 0, alloc.ErrInvalid.Errorf("the fields are larger than any memory (2^63 bytes)")
}

// Descr writes the fields of a structured type, with padding where there are gaps.
func (t Type) Descr() ([]Descr, error) {
	var list []Descr
	err := t.walk(func(f Field) error {
		d := Descr{Title: f.Title, Name: f.Name, Shape: f.Shape}
		if f.Type.Fields == nil {
			d.Typestr = f.Type.Typestr()
		} else {
			var err error
			if d.Nested, err = f.Type.Descr(); err != nil {
				return err
			}
		}
		list = append(list, d)
		return nil
	}, func(gap int64) {
		list = append(list, Descr{Typestr: Type{Kind: 'V', Order: '|', ItemSize: gap}.Typestr()})
	})
	if err != nil {
		return nil, fmt.Errorf("descr: %w", err)
	}
	return list, nil
}

// walk goes through the fields in memory order and names the gaps between and after
// them. Fields that overlap or come out of order cannot be written as a list.
func (t Type) walk(field func(Field) error, gap func(bytes int64)) error {
	end := int64(0)
	skip := func(to int64, what string) error {
		if to < end {
			return alloc.ErrInvalid.Errorf("%s begins at byte %d, before the end of the one before it at %d", what, to, end)
		}
		if to > end {
			gap(to - end)
		}
		return nil
	}
	for _, f := range t.Fields {
		if err := skip(f.Offset, "field "+f.Name); err != nil {
			return err
		}
		if err := field(f); err != nil {
			return err
		}
		size, ok := f.size()
		if !ok {
			return alloc.ErrInvalid.Errorf("field %s is larger than any memory (2^63 bytes)", f.Name)
		}
		if end, ok = add(f.Offset, size); !ok {
			return alloc.ErrInvalid.Errorf("field %s ends beyond 2^63 bytes", f.Name)
		}
	}
	return skip(t.ItemSize, "the end of the item")
}
