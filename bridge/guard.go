package bridge

// #include "types.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime/debug"
	"unicode/utf8"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/gufunc"
)

// guard runs the body of an export. Nothing leaves it but a return code: an
// unrecovered panic would end the process that loaded us.
func guard(e *C.gb_error, body func() error) (rc C.int) {
	defer func() {
		if r := recover(); r != nil {
			report(e, C.GB_PANIC, fmt.Sprintf("panic in Go: %v\n%s", r, debug.Stack()))
			rc = -1
		}
	}()
	err := body()
	if err == nil {
		return 0
	}
	kind := alloc.ErrUnavailable
	errors.As(err, &kind)
	number := C.int32_t(kind)
	if setup := (*gufunc.SignatureError)(nil); errors.As(err, &setup) {
		number = C.GB_SIGNATURE_ERROR
	}
	report(e, number, err.Error())
	return -1
}

// report writes the message, cut to the room there is, with a closing zero.
func report(e *C.gb_error, kind C.int32_t, message string) {
	e.kind = kind
	room := unsafe.Slice((*byte)(unsafe.Pointer(&e.message[0])), len(e.message))
	n := copy(room[:len(room)-1], message)
	for n < len(message) && n > 0 && !utf8.RuneStart(message[n]) { // half a character is no text for Python
		n--
	}
	room[n] = 0
}
