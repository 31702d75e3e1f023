package cudaarrayinterface

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
// #include "../arrayinterface/interface.h"
import "C"

import (
	"fmt"

	"gridbuf/alloc"
	"gridbuf/arrayinterface"
	"gridbuf/internal/message"
)

// Version of the protocol that is written, and the newest one that is read.
const Version = 3

// Interface mirrors the dictionary __cuda_array_interface__.
type Interface struct {
	Shape     []int64
	Typestr   string
	Data      uintptr
	ReadOnly  bool
	Strides   []int64 // bytes; nil: C order
	Mask      bool    // there is a mask that is not None
	HasStream bool    // there is a stream that is not None
	Stream    int64
	Version   int
}

// Description is an array in device memory, with everything filled in. Data is 0
// where there are no elements.
type Description struct {
	arrayinterface.Description
	Stream Stream
}

// Parse checks a dictionary of another library. Versions 0 to 2 differ only in
// what they leave out.
func Parse(d Interface) (Description, error) {
	var e C.gb_error
	if C.gb_interface_cuda_version(C.int64_t(d.Version), &e) < 0 {
		return Description{}, refusal(&e)
	}
	stream, err := ParseStream(d.HasStream, d.Stream)
	if err != nil {
		return Description{}, err
	}
	common, err := arrayinterface.Parse(arrayinterface.Interface{
		Shape: d.Shape, Typestr: d.Typestr, Data: d.Data, ReadOnly: d.ReadOnly, Strides: d.Strides,
		Mask: d.Mask, Version: arrayinterface.Version,
	})
	if err != nil {
		return Description{}, err
	}
	if common.Size() == 0 {
		common.Data = 0
	}
	return Description{Description: common, Stream: stream}, nil
}

// Describe writes a dictionary. Strides are left out where the array is C-contiguous,
// and the address is 0 where there are no elements.
func Describe(d Description) (Interface, error) {
	out := Interface{
		Shape: d.Shape, Typestr: d.Type.Typestr(), Data: d.Data, ReadOnly: d.ReadOnly,
		Version:   Version,
		HasStream: d.Stream != NoStream, Stream: int64(d.Stream),
	}
	if !d.CContiguous() {
		out.Strides = d.Strides
	}
	if d.Size() == 0 {
		out.Data = 0
	}
	if _, err := Parse(out); err != nil {
		return Interface{}, err
	}
	return out, nil
}

// DescribePlan describes memory laid out by a plan, with the first element at data,
// an address that the device can use: device, managed or pinned memory.
func DescribePlan(p *alloc.Plan, t arrayinterface.Type, data uintptr, stream Stream) (Description,
	error) {
	if p.Device() != alloc.GPU && p.Memory() == alloc.Plain {
		return Description{},
			alloc.ErrInvalid.Errorf("device: the plan's memory is plain host memory, which a " +
				"device cannot use")
	}
	if t.ItemSize != p.ItemSize() {
		return Description{},
			alloc.ErrInvalid.Errorf("dtype: items of %s take %d bytes, those of the plan %d",
				t.Typestr(), t.ItemSize, p.ItemSize())
	}
	layout := arrayinterface.Layout{Shape: p.Shape(), Strides: p.Strides(), ItemSize: p.ItemSize()}
	return Description{Description: arrayinterface.Description{Layout: layout, Type: t, Data: data},
		Stream: stream}, nil
}

// View refuses: the memory is a device's, which the host cannot read. Package cuda copies it.
func (d Description) View() (alloc.View, error) {
	return alloc.View{}, alloc.ErrInvalid.Errorf("data: memory of a device, which has no View; " +
		"cuda.CopyStrided reaches it")
}

// Stream is the CUDA stream on which work on an array may still be under way. A
// consumer that finds one waits for it, and some wait with the whole host: publish
// one only while there is such work.
type Stream int64

// The streams that have no pointer.
const (
	NoStream        Stream = 0 // absent or None: nothing to wait for
	LegacyDefault   Stream = 1
	PerThreadStream Stream = 2
)

func (s Stream) String() string {
	switch s {
	case NoStream:
		return "none"
	case LegacyDefault:
		return "legacy default"
	case PerThreadStream:
		return "per-thread default"
	}
	return fmt.Sprintf("%#x", int64(s))
}

// ParseStream reads the entry stream of a dictionary, where present says that there
// is one and it is not None. 0 is disallowed there: it could mean no stream, or one
// of the two default streams.
func ParseStream(present bool, value int64) (Stream, error) {
	var e C.gb_error
	if !present {
		return NoStream, nil
	}
	if C.gb_interface_cuda_stream(C.int64_t(value), &e) < 0 {
		return NoStream, refusal(&e)
	}
	return Stream(value), nil
}

func refusal(e *C.gb_error) error {
	return &alloc.Error{Kind: alloc.Kind(e.kind), Message: message.Text(e.message[:])}
}
