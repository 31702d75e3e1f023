package alloc

// #include "numbers.h"
import "C"

import (
	"strconv"
	"strings"

	"gridbuf/internal/message"
)

// Dim names an index of a field: I, J, K, or a data dimension 0, 1, ...
type Dim int32

// The cartesian dimensions; data dimensions are their own number.
const (
	I Dim = C.GB_DIM_I
	J Dim = C.GB_DIM_J
	K Dim = C.GB_DIM_K
)

// IsData reports whether d is a data dimension.
func (d Dim) IsData() bool { return d >= 0 }

func (d Dim) String() string {
	if d.IsData() {
		return strconv.Itoa(int(d))
	}
	if d < I {
		return "Dim(" + strconv.Itoa(int(d)) + ")"
	}
	return string(rune('I' + d - I))
}

// DefaultDims is what a field of ndim indices means when nothing is said:
// I, J, K, then data dimensions 0, 1, ... There are at most MaxDims.
func DefaultDims(ndim int) []Dim {
	dims := make([]Dim, min(max(ndim, 0), MaxDims))
	for i := range dims {
		dims[i] = I + Dim(i)
	}
	return dims
}

// ParseDims reads "IJK0" or, with commas, "I,J,K,10".
func ParseDims(s string) ([]Dim, error) {
	tokens := strings.Split(s, "")
	if strings.Contains(s, ",") {
		tokens = strings.Split(s, ",")
	}
	dims := make([]Dim, 0, len(tokens))
	for _, t := range tokens {
		d, ok := parseDim(strings.TrimSpace(t))
		if !ok {
			return nil, ErrInvalid.Errorf("dimensions: %q is not a dimension; allowed are I, J, K "+
				"and 0, 1, 2, ...", t)
		}
		dims = append(dims, d)
	}
	return dims, checkDims(dims)
}

func parseDim(t string) (Dim, bool) {
	if len(t) == 1 && 'I' <= t[0] && t[0] <= 'K' {
		return Dim(t[0]-'I') + I, true
	}
	n, err := strconv.ParseInt(t, 10, 32)
	return Dim(n), err == nil && n >= 0 && strconv.FormatInt(n, 10) == t
}

func checkDims(dims []Dim) error {
	for i, d := range dims {
		if d < I {
			return ErrInvalid.Errorf("dimensions: %d is not the code of a dimension", int32(d))
		}
		for _, e := range dims[:i] {
			if d == e {
				return ErrInvalid.Errorf("dimensions: %s appears twice in %v; every dimension may "+
					"appear once", d, message.List(dims))
			}
		}
	}
	return nil
}

// DimsString writes dims as ParseDims reads them.
func DimsString(dims []Dim) string {
	parts, sep := make([]string, len(dims)), ""
	for i, d := range dims {
		parts[i] = d.String()
		if d > 9 {
			sep = ","
		}
	}
	return strings.Join(parts, sep)
}
