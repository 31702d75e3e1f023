package alloc

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func plan(t *testing.T, n int64) *Plan {
	t.Helper()
	p, err := NewPlan(&Spec{Shape: []int64{n}, ItemSize: 1})
	require.NoError(t, err)
	return p
}

func TestBlocksAreReusedAndCounted(t *testing.T) {
	before := Statistics()
	for _, n := range []int64{0, 1, 8000, 60 << 10, 1 << 20, 42 << 20} {
		p := plan(t, n)
		a, err := New(p)
		require.NoError(t, err)
		id, at := a.ID(), a.Data()
		assert.Equal(t, before.LiveBytes+p.reserve, Statistics().LiveBytes)
		a.Free()
		b, err := New(p)
		require.NoError(t, err)
		assert.Equal(t, at, b.Data(), "the block used last comes back first")
		assert.NotEqual(t, id, b.ID(), "but its id does not")
		b.Free()
	}
	after := Statistics()
	assert.Equal(t, before.LiveBytes, after.LiveBytes)
	assert.Equal(t, before.LiveBuffers, after.LiveBuffers)
	assert.Greater(t, after.CachedBytes, int64(0))
	Trim()
	assert.Less(t, Statistics().CachedBytes, after.CachedBytes)
}

func TestTheCacheIsBounded(t *testing.T) {
	defer SetCacheBound(1 << 30)
	SetCacheBound(4 << 20)
	var held []*Buffer
	for range 64 {
		b, err := New(plan(t, 1<<20))
		require.NoError(t, err)
		held = append(held, b)
	}
	for _, b := range held {
		b.Free()
	}
	assert.LessOrEqual(t, Statistics().CachedBytes, int64(8<<20))
}

func TestSharedBlocksLiveUntilTheLastHolder(t *testing.T) {
	live := Statistics().LiveBuffers
	a, err := New(plan(t, 100))
	require.NoError(t, err)
	b := a.Share()
	a.Free()
	assert.Equal(t, live+1, Statistics().LiveBuffers)
	b.Bytes()[99] = 1
	b.Free()
	assert.Equal(t, live, Statistics().LiveBuffers)
}

func TestLimit(t *testing.T) {
	defer SetLimit(-1)
	SetLimit(Statistics().LiveBytes + 1<<20)
	_, err := New(plan(t, 2<<20))
	var refusal *Error
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, ErrNoMemory, refusal.Kind)
	assert.Contains(t, err.Error(), "limit")
	b, err := New(plan(t, 1<<10))
	require.NoError(t, err)
	b.Free()
}

func TestOutOfMemoryIsAnErrorAndTrimsFirst(t *testing.T) {
	b, err := New(plan(t, 1<<20))
	require.NoError(t, err)
	b.Free()
	cached := Statistics().CachedBytes
	var refusal *Error
	require.ErrorAs(t, refill(1<<60), &refusal)
	assert.Equal(t, ErrNoMemory, refusal.Kind)
	assert.Contains(t, refusal.Message, "cannot allocate 1152921504606846976 bytes: the system "+
		"has none left (cannot allocate memory)")
	assert.LessOrEqual(t, Statistics().CachedBytes, cached-1<<20)
}

func TestManyThreads(t *testing.T) {
	live := Statistics()
	var group sync.WaitGroup
	for w := range 8 {
		group.Go(func() {
			var held []*Buffer
			for i := range 2000 {
				p := plan(t, int64((i*37+w*101)%5000))
				b, err := New(p)
				if !assert.NoError(t, err) {
					return
				}
				if len(b.Bytes()) > 0 {
					b.Bytes()[0] = byte(w)
				}
				held = append(held, b)
				if len(held) > 20 {
					first := held[0]
					if first.plan.bytes > 0 {
						assert.Equal(t, byte(w), first.Bytes()[0])
					}
					first.Free()
					held = held[1:]
				}
			}
			for _, b := range held {
				b.Free()
			}
		})
	}
	group.Wait()
	assert.Equal(t, live.LiveBytes, Statistics().LiveBytes)
	assert.Equal(t, live.LiveBuffers, Statistics().LiveBuffers)
}

func TestZeroTakesNewPagesForLargeBlocksOnly(t *testing.T) {
	// twice the largest huge page that large blocks lie in, and more
	large, small := plan(t, 72<<20), plan(t, 8<<10)
	for p, renewed := range map[*Plan]bool{large: true, small: false} {
		b, err := New(p)
		require.NoError(t, err)
		for i := range b.Bytes() {
			b.Bytes()[i] = 0xff
		}
		assert.Equal(t, renewed, b.renew())
		if renewed {
			for i, c := range b.Bytes() {
				if c != 0 {
					require.Zero(t, c, "byte %d", i)
				}
			}
		}
		b.Free()
	}
}
