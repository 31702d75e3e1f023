package gufunc

import (
	"strings"

	"gridbuf/alloc"
	"gridbuf/internal/message"
)

// SignatureError says that a gufunc or a call cannot be set up: a signature that
// does not parse, operands that do not fit it, types without a kernel.
type SignatureError struct {
	Message   string
	Signature string // empty: the error is not about one place in a signature
	At        int    // byte offset into Signature, -1 for none
}

// Error is the message and, where there is a place to show, the signature with a
// caret under it.
func (e *SignatureError) Error() string {
	if e.Signature == "" || e.At < 0 {
		return e.Message
	}
	return message.Format("%s\n    %s\n    %s^", e.Message, e.Signature, strings.Repeat(" ", min(e.At, len(e.Signature))))
}

// Unwrap gives [alloc.ErrInvalid], for errors.Is.
func (e *SignatureError) Unwrap() error { return alloc.ErrInvalid }

func (s *Signature) errorAt(at int, format string, args ...any) error {
	return &SignatureError{Message: message.Format(format, args...), Signature: s.Text, At: at}
}

func setupError(format string, args ...any) error {
	return &SignatureError{Message: message.Format(format, args...), At: -1}
}
