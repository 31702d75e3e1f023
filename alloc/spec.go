package alloc

// #include "numbers.h"
import "C"

import "gridbuf/internal/message"

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

// Limits of a request. They keep every product below 2^63.
const (
	MaxDims          = C.GB_MAXDIMS
	maxAlignment     = C.GB_MAX_ALIGNMENT
	maxByteAlignment = C.GB_MAX_BYTE_ALIGNMENT
	maxBoundary      = C.GB_MAX_BOUNDARY
)
