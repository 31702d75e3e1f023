package cudaarrayinterface

// #cgo CFLAGS: -std=gnu11 -fvisibility=hidden -Wall -Wextra
// #include "interface.h"
import "C"

import (
	"fmt"

	"gridbuf/alloc"
)

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
	return &alloc.Error{Kind: alloc.Kind(e.kind), Message: C.GoString(&e.message[0])}
}
