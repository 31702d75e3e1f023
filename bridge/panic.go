//go:build gridbuf_panic

package bridge

// #include "gufunc.h"
import "C"

// gbridge_panic exists only in the build that tests the guard.
//
//export gbridge_panic
func gbridge_panic(e *C.gb_error) C.int { return guard(e, func() error { panic("on purpose") }) }
