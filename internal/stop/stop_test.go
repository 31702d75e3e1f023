package stop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"gridbuf/internal/stop"
)

// The wait ends at once with its context, and goes on alone.
func TestWaitingEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	held, through := make(chan struct{}), make(chan struct{})
	err := stop.Waiting(ctx, func() error {
		cancel()
		<-held
		close(through)
		return nil
	})
	assert.ErrorIs(t, err, context.Canceled)
	close(held)
	<-through
}

func TestWaitingGivesTheErrorOfTheWait(t *testing.T) {
	wrong := errors.New("wrong")
	for _, ctx := range []context.Context{nil, context.Background(), t.Context()} {
		assert.Equal(t, wrong, stop.Waiting(ctx, func() error { return wrong }))
		assert.NoError(t, stop.Waiting(ctx, func() error { return nil }))
	}
	err := stop.Waiting(t.Context(), func() error { panic("a fault") })
	assert.ErrorContains(t, err, "a fault")
}
