package cuda

// #include "cuda.h"
import "C"

import (
	"fmt"

	"gridbuf/alloc"
)

// What an [Error] is about; use errors.Is. Each is one of the kinds of alloc as well.
var (
	ErrNoDriver  = fmt.Errorf("cuda: no driver: %w", alloc.ErrUnavailable)
	ErrOldDriver = fmt.Errorf("cuda: driver too old: %w", alloc.ErrUnavailable)
	ErrNoDevice  = fmt.Errorf("cuda: no such device: %w", alloc.ErrUnavailable)
	ErrForked    = fmt.Errorf("cuda: used after fork: %w", alloc.ErrUnavailable)
	ErrNoMemory  = fmt.Errorf("cuda: %w", alloc.ErrNoMemory)
	ErrOverLimit = fmt.Errorf("cuda: over the limit: %w", alloc.ErrNoMemory)
	ErrArgument  = fmt.Errorf("cuda: %w", alloc.ErrInvalid)
)

// Error is what the driver, or this package on its behalf, has to say. Code is the
// driver's own number, or 0.
type Error struct {
	Code   int
	Text   string
	status C.int32_t
}

func (e *Error) Error() string { return e.Text }

// Unwrap gives the Err variable for this kind of error, or [alloc.ErrUnavailable].
func (e *Error) Unwrap() error {
	switch e.status {
	case C.GB_CUDA_NO_DRIVER:
		return ErrNoDriver
	case C.GB_CUDA_OLD_DRIVER:
		return ErrOldDriver
	case C.GB_CUDA_NO_DEVICE:
		return ErrNoDevice
	case C.GB_CUDA_FORKED:
		return ErrForked
	case C.GB_CUDA_NO_MEMORY:
		return ErrNoMemory
	case C.GB_CUDA_OVER_LIMIT:
		return ErrOverLimit
	case C.GB_CUDA_ARGUMENT:
		return ErrArgument
	}
	return alloc.ErrUnavailable
}

// refuse is what a caller of this package got wrong.
func refuse(format string, values ...any) error {
	return &Error{Text: fmt.Sprintf(format, values...), status: C.GB_CUDA_ARGUMENT}
}

// refuseFault is the use of what holds nothing; nil where fault is empty.
func refuseFault(name, fault string) error {
	if fault == "" {
		return nil
	}
	return refuse("%s: %s", name, fault)
}

func check(result C.int, e *C.gb_cuda_error) error {
	if result >= 0 {
		return nil
	}
	return &Error{Code: int(e.code), Text: C.GoString(&e.text[0]), status: e.status}
}
