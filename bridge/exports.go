package bridge

// #include "types.h"
import "C"

import (
	"time"
	"unsafe"

	"gridbuf/transfer"
)

// The first call: it waits until Go's runtime has started.
//
//export gbridge_start
func gbridge_start(e *C.gb_error) C.int { return guard(e, func() error { return nil }) }

//export gbridge_copy
func gbridge_copy(job unsafe.Pointer, nanoseconds C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error { _, err := transfer.Resume(job, time.Duration(nanoseconds)); return err })
}
