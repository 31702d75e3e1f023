package bridge

// #include "types.h"
import "C"

import (
	"time"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/transfer"
)

// The first call: it waits until Go's runtime has started.
//
//export gbridge_start
func gbridge_start(e *C.gb_error) C.int { return guard(e, func() error { return nil }) }

//export gbridge_plan
func gbridge_plan(r *C.gb_request, out *C.gb_plan, e *C.gb_error) C.int {
	return guard(e, func() error { return plan(r, out) })
}

//export gbridge_describe
func gbridge_describe(g *C.gb_geometry, data C.uintptr_t, out *C.gb_plan, e *C.gb_error) C.int {
	return guard(e, func() error { return describe(g, uintptr(data), out) })
}

//export gbridge_refill
func gbridge_refill(reserve C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error { return alloc.Refill(int64(reserve)) })
}

//export gbridge_backend
func gbridge_backend(name *C.char, out *C.gb_preset, e *C.gb_error) C.int {
	return guard(e, func() error { return backend(C.GoString(name), out) })
}

//export gbridge_backends
func gbridge_backends(names *C.char, room C.int64_t, needed *C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error { return backends(unsafe.Slice((*byte)(unsafe.Pointer(names)), room), needed) })
}

//export gbridge_register
func gbridge_register(name *C.char, p *C.gb_preset, e *C.gb_error) C.int {
	return guard(e, func() error { return register(C.GoString(name), p) })
}

//export gbridge_copy
func gbridge_copy(job unsafe.Pointer, nanoseconds C.int64_t, e *C.gb_error) C.int {
	return guard(e, func() error { _, err := transfer.Resume(job, time.Duration(nanoseconds)); return err })
}
