package alloc

// #include "errors.h"
import "C"

import "gridbuf/internal/message"

// Kind is what an error is about, for errors.Is: every package of this module that refuses
// something wraps one of them, errors.Is(err, alloc.ErrNoMemory) holds for host memory, pinned and
// device memory and the scratch space of a copy alike.
type Kind int32

// The kinds of errors. The extension makes a Python exception of each (pyext/core/go.c), by the
// same numbers.
const (
	// an argument that is not allowed: the message names it, what came and what is allowed
	ErrInvalid     Kind = C.GB_VALUE_ERROR
	ErrType        Kind = C.GB_TYPE_ERROR    // an argument of a type that is not taken
	ErrNoMemory    Kind = C.GB_MEMORY_ERROR  // the system has none left, or a limit is reached
	ErrUnavailable Kind = C.GB_RUNTIME_ERROR // the request cannot be met here or now
)

func (k Kind) Error() string {
	switch k {
	case ErrInvalid:
		return "invalid argument"
	case ErrType:
		return "argument of the wrong type"
	case ErrNoMemory:
		return "no memory left"
	case ErrUnavailable:
		return "not available"
	}
	return message.Format("error of kind %d", int32(k))
}

// Errorf makes an error of this kind.
func (k Kind) Errorf(format string, args ...any) error {
	return &Error{Kind: k, Message: message.Format(format, args...)}
}

// Error is a refusal that says what was wrong.
type Error struct {
	Kind    Kind
	Message string
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives the Kind, so that errors.Is(err, alloc.ErrInvalid) works.
func (e *Error) Unwrap() error { return e.Kind }
