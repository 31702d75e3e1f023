package cuda

// #include "cuda.h"
import "C"

import "errors"

// What an [Error] is about; use errors.Is.
var (
	ErrNoDriver  = errors.New("cuda: no driver")
	ErrOldDriver = errors.New("cuda: driver too old")
	ErrNoDevice  = errors.New("cuda: no such device")
	ErrForked    = errors.New("cuda: used after fork")
	ErrNoMemory  = errors.New("cuda: out of memory")
	ErrOverLimit = errors.New("cuda: over the limit")
	ErrArgument  = errors.New("cuda: bad argument")
)

// Error is what the driver, or this package on its behalf, has to say. Code is the
// driver's own number, or 0.
type Error struct {
	Code   int
	Text   string
	status C.int32_t
}

func (e *Error) Error() string { return e.Text }

// Unwrap gives the Err variable for this kind of error, or nil.
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
	return nil
}

func check(result C.int, e *C.gb_cuda_error) error {
	if result >= 0 {
		return nil
	}
	return &Error{Code: int(e.code), Text: C.GoString(&e.text[0]), status: e.status}
}
