package arrayinterface

import (
	"fmt"
	"math"
	"strings"

	"gridbuf/alloc"
)

// The small pieces of a buffer format: numbers, shapes and names.

func (r *formatReader) errorf(what string, args ...any) error {
	return alloc.ErrInvalid.Errorf("format: %q at character %d: %s", r.format, min(r.at, len(r.format)), fmt.Sprintf(what, args...))
}

// peek is the next character, or 0 at the end.
func (r *formatReader) peek() byte {
	if r.at < len(r.format) {
		return r.format[r.at]
	}
	return 0
}

// number reads decimal digits, if there are any.
func (r *formatReader) number() (n int64, found bool, err error) {
	for c := r.peek(); '0' <= c && c <= '9'; c = r.peek() {
		digit := int64(c - '0')
		if n > (math.MaxInt64-digit)/10 {
			return 0, true, r.errorf("the number is too large")
		}
		n, found = 10*n+digit, true
		r.at++
	}
	return n, found, nil
}

// shape reads (2,3), if it is there.
func (r *formatReader) shape() ([]int64, error) {
	if r.peek() != '(' {
		return nil, nil
	}
	var shape []int64
	for r.peek() != ')' {
		r.at++ // ( or ,
		n, found, err := r.number()
		if err != nil {
			return nil, err
		}
		if c := r.peek(); !found || c != ',' && c != ')' {
			return nil, r.errorf("a shape such as (2,3) is needed")
		}
		shape = append(shape, n)
	}
	r.at++
	return shape, nil
}

// name reads :name:, if it is there.
func (r *formatReader) name() (string, error) {
	if r.peek() != ':' {
		return "", nil
	}
	name, _, closed := strings.Cut(r.format[r.at+1:], ":")
	if !closed || name == "" {
		return "", r.errorf("a name ends with a second colon")
	}
	r.at += len(name) + 2
	return name, nil
}

// nameFields gives f0, f1, ... to the fields without a name.
func (t *Type) nameFields() error {
	seen := map[string]bool{}
	for i := range t.Fields {
		f := &t.Fields[i]
		if f.Name == "" {
			f.Name = fmt.Sprintf("f%d", i)
		}
		if seen[f.Name] {
			return alloc.ErrInvalid.Errorf("two fields are named %q", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}
