// Package stop asks the context of long work, and ends the work with it.
package stop

import (
	"context"
	"errors"

	"gridbuf/internal/message"
)

// Asked is the context's error; nil while the work may go on, and without a context.
func Asked(ctx context.Context) error {
	if ctx == nil {
		return nil
	}
	return ctx.Err()
}

// When calls end, on another goroutine, once the context is done. The work calls the function that
// it gives, when it is through: end is not called any more then, and where it was the answer is the
// context's error.
func When(ctx context.Context, end func()) (through func() error) {
	if ctx == nil || ctx.Done() == nil {
		return func() error { return nil }
	}
	called := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer func() {
			_ = recover() // the work goes on to its end
			close(called)
		}()
		end()
	})
	return func() error {
		if forget() {
			return nil
		}
		<-called
		return ctx.Err()
	}
}

// Waiting gives the error of a wait that nothing can end, or that of the context where the context
// ends first: the wait then goes on alone, on a goroutine of its own.
func Waiting(ctx context.Context, wait func() error) error {
	if ctx == nil || ctx.Done() == nil {
		return wait()
	}
	through := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				through <- errors.New(message.Panic(r))
			}
		}()
		through <- wait()
	}()
	select {
	case err := <-through:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done is the channel that the end of a context closes; nil without a context.
func Done(ctx context.Context) <-chan struct{} {
	if ctx == nil {
		return nil
	}
	return ctx.Done()
}
