package bridge

// #include "gufunc.h"
import "C"

import (
	"unicode/utf8"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/gufunc"
	"gridbuf/internal/message"
)

// guard runs the body of an export. Nothing leaves it but a return code: an
// unrecovered panic would end the process that loaded us.
func guard(e *C.gb_error, body func() error) (rc C.int) {
	defer func() {
		if r := recover(); r != nil {
			report(e, C.GB_PANIC, "panic in Go: "+message.Panic(r))
			rc = -1
		}
	}()
	err := body()
	if err == nil {
		return 0
	}
	report(e, number(err), err.Error())
	return -1
}

// number is what C calls the kind of an error.
func number(err error) C.int32_t {
	for why := err; why != nil; {
		switch is := why.(type) {
		case *gufunc.SignatureError:
			return C.GB_SIGNATURE_ERROR
		case alloc.Kind:
			return C.int32_t(is)
		}
		inner, ok := why.(interface{ Unwrap() error })
		if !ok {
			break
		}
		why = inner.Unwrap()
	}
	return C.GB_RUNTIME_ERROR
}

// report writes the message, cut to the room there is, with a closing zero.
func report(e *C.gb_error, kind C.int32_t, message string) {
	e.kind = kind
	room := unsafe.Slice((*byte)(unsafe.Pointer(&e.message[0])), len(e.message))
	n := copy(room[:len(room)-1], message)
	// half a character is no text for Python
	for n < len(message) && n > 0 && !utf8.RuneStart(message[n]) {
		n--
	}
	room[n] = 0
}
