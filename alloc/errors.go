package alloc

import "fmt"

// Kind says which family of error a caller should see.
type Kind int

// The families; the extension maps each to a Python exception.
const (
	ValueError Kind = iota + 1
	TypeError
	MemoryError
	RuntimeError
)

// Error is a refusal that names the argument it is about.
type Error struct {
	Kind    Kind
	Message string
}

func (e *Error) Error() string { return e.Message }

func valueErrorf(format string, args ...any) error {
	return &Error{ValueError, fmt.Sprintf(format, args...)}
}

func memoryErrorf(format string, args ...any) error {
	return &Error{MemoryError, fmt.Sprintf(format, args...)}
}
