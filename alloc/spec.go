package alloc

// #include "numbers.h"
import "C"

import (
	"strconv"
	"strings"

	"gridbuf/internal/message"
)

// Device is where memory lives.
type Device int32

// The devices a request can name; AnyDevice leaves it to the preset.
const (
	AnyDevice Device = C.GB_ANY_DEVICE
	CPU       Device = C.GB_CPU
	GPU       Device = C.GB_GPU
)

func (d Device) String() string {
	if d < AnyDevice || d > GPU {
		return message.Format("Device(%d)", int32(d))
	}
	return [...]string{"any", "cpu", "gpu"}[d]
}

// Memory is the kind of memory within a device.
type Memory int32

// The kinds of memory.
const (
	Plain   Memory = C.GB_PLAIN
	Pinned  Memory = C.GB_PINNED
	Managed Memory = C.GB_MANAGED
)

func (m Memory) String() string {
	if m < Plain || m > Managed {
		return message.Format("Memory(%d)", int32(m))
	}
	return [...]string{"plain", "pinned", "managed"}[m]
}

// Values of Spec.Padding besides a number of items.
const (
	PadAsPreset   int64 = C.GB_PAD_AS_PRESET   // rows as the preset says
	PadNone       int64 = C.GB_PAD_NONE        // rows of their elements alone
	PadToBoundary int64 = C.GB_PAD_TO_BOUNDARY // rows to the effective byte alignment
)

// Spec is a request for grid memory. The zero value of every field but Shape and
// ItemSize means the default: without a preset C order on the host, with one what
// the preset says.
type Spec struct {
	Shape []int64
	// how many trailing indices came with a sub-shape dtype; the lists below leave them out
	SubShape      int
	ItemSize      int64
	Preset        *Preset // nil: "C"; FindPreset gives one by its name
	Dims          []Dim   // nil: DefaultDims
	AlignedIndex  []int64 // nil: zeros
	Layout        []int32 // nil: the preset's
	ByteAlignment int64   // bytes, a power of two; 0: 64 on the host, 256 on a device
	// items that rows are rounded up to, or PadAsPreset, PadNone, PadToBoundary
	Padding int64
	// items; 0: the preset's. Unlike Padding it moves the boundary too (GDP-3's alignment)
	Alignment int64
	Device    Device
	DeviceID  int
	Memory    Memory
}

// MaxDims is how many indices a Spec may have.
const MaxDims = C.GB_MAXDIMS

// Limits of a request, which keep every product below 2^63.
const (
	maxAlignment     = C.GB_MAX_ALIGNMENT
	maxByteAlignment = C.GB_MAX_BYTE_ALIGNMENT
	maxBoundary      = C.GB_MAX_BOUNDARY
)

// Dim names an index of a field: I, J, K, or a data dimension 0, 1, ... Dims from
// Named on have names of the user's own, which Python keeps.
type Dim int32

// The cartesian dimensions; data dimensions are their own number.
const (
	I Dim = C.GB_DIM_I
	J Dim = C.GB_DIM_J
	K Dim = C.GB_DIM_K

	Named Dim = C.GB_DIM_NAMED
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
