package cudaarrayinterface

import "fmt"

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

// ParseStream reads the entry stream of a dictionary, where present says that there
// is one and it is not None. 0 is disallowed there: it could mean no stream, or one
// of the two default streams.
func ParseStream(present bool, value int64) (Stream, error) {
	switch {
	case !present:
		return NoStream, nil
	case value == 0:
		return NoStream, fmt.Errorf("stream: 0 is ambiguous; allowed are None, 1 (legacy default), 2 (per-thread default) and a pointer")
	case value < 0:
		return NoStream, fmt.Errorf("stream: %d is no pointer; allowed are None, 1 (legacy default), 2 (per-thread default) and a pointer", value)
	}
	return Stream(value), nil
}
