package cuda_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/cuda"
	"gridbuf/cuda/internal/faketest"
)

func TestBoundaryAndOffsetAreHonoured(t *testing.T) {
	clean(t)
	for _, k := range kinds {
		for _, boundary := range []int64{1, 8, 64, 256, 512, 4096, 1 << 20, 24, 1000} {
			for _, offset := range []int64{0, 1, 8, boundary - 1} {
				if offset >= boundary {
					continue
				}
				for _, span := range []int64{0, 1, 4095, 70000} {
					b, err := cuda.Alloc(cuda.Request{Kind: k, Span: span, Boundary: boundary,
						Offset: offset})
					require.NoError(t, err)
					assert.EqualValues(t, offset, int64(b.Address())%boundary,
						"boundary %d offset %d", boundary, offset)
					assert.GreaterOrEqual(t, b.Bytes(), span)
					if k == cuda.DeviceMemory {
						// aborts outside of the allocation
						faketest.Look(b.Address(), int(b.Bytes()))
					}
					b.Free()
				}
			}
		}
	}
}

func TestHostSeesPinnedAndManagedMemory(t *testing.T) {
	clean(t)
	for _, k := range []cuda.Kind{cuda.Pinned, cuda.Managed} {
		b := take(t, k, 1000, 0)
		copy(faketest.Host(b.Address(), 1000), "hello")
		assert.Equal(t, "hello", string(faketest.Look(b.Address(), 5)))
		b.Free()
	}
}

func TestZeroSizeBlocksAreDistinct(t *testing.T) {
	clean(t)
	a, b := take(t, cuda.DeviceMemory, 0, 0), take(t, cuda.DeviceMemory, 0, 0)
	assert.NotEqual(t, a.Address(), b.Address())
	assert.NotEqual(t, a.ID(), b.ID())
	require.NoError(t, on(0, 0).Copy(cuda.Within, a.Address(), b.Address(), 0))
	require.NoError(t, on(0, 0).Set(a.Address(), 4, 1, 0))
	require.NoError(t, on(0, 0).Relayout(cuda.View{a.Address(), []int64{8}},
		cuda.View{b.Address(), []int64{8}}, []int64{0}, 8))
	address := a.Address()
	found := cuda.Find(address)
	assert.Equal(t, address, found.Address())
	found.Free()
	a.Free()
	b.Free()
	assert.Nil(t, cuda.Find(address))
}

func TestNumbersAreSharedWithTheHost(t *testing.T) {
	clean(t)
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{3}, ItemSize: 8})
	require.NoError(t, err)
	seen := map[uint64]bool{}
	for range 20 {
		host, err := alloc.New(plan)
		require.NoError(t, err)
		device := take(t, cuda.DeviceMemory, 8, 0)
		assert.False(t, seen[host.ID()] || seen[device.ID()] || host.ID() == device.ID())
		seen[host.ID()], seen[device.ID()] = true, true
		host.Free()
		device.Free()
	}
}

func TestImpossibleRequests(t *testing.T) {
	clean(t)
	for _, w := range []cuda.Request{{Span: -1}, {Span: 8, Boundary: -4},
		{Span: 8, Boundary: 64, Offset: 64}, {Span: 8, Offset: -1}, {Kind: 3,
			Span: 8}, {Kind: -1}} {
		_, err := cuda.Alloc(w)
		assert.ErrorIs(t, err, cuda.ErrArgument, "%+v", w)
	}
	for _, w := range []cuda.Request{{Span: math.MaxInt64}, {Span: 8, Boundary: math.MaxInt64},
		{Span: 1 << 60, Boundary: 1 << 60}, {Span: 1 << 50}} {
		_, err := cuda.Alloc(w)
		assert.ErrorIs(t, err, cuda.ErrNoMemory, "%+v", w)
	}
	assert.Zero(t, cuda.PoolStats(cuda.DeviceMemory, 0).LiveBytes)
}

func TestPooledAllocationCallsNoDriver(t *testing.T) {
	clean(t)
	for _, k := range []cuda.Kind{cuda.DeviceMemory, cuda.Pinned} {
		for _, span := range []int64{100, 50000, 3 << 20} {
			take(t, k, span, 0).Free()
			before := faketest.Count("")
			for range 100 {
				take(t, k, span, 0).Free()
			}
			assert.Equal(t, before, faketest.Count(""), "kind %d, %d bytes", k, span)
		}
	}
	s := cuda.PoolStats(cuda.DeviceMemory, 0)
	assert.Zero(t, s.LiveBuffers)
	assert.Equal(t, s.Allocations, s.Hits+s.Misses)
}

func TestUploadIsThreeCalls(t *testing.T) {
	clean(t)
	host, device := take(t, cuda.Pinned, 4096, 0), take(t, cuda.DeviceMemory, 4096, 0)
	before := faketest.Count("")
	require.NoError(t, on(0, 0).Copy(cuda.Upload, device.Address(), host.Address(), 4096))
	assert.EqualValues(t, 3, faketest.Count("")-before, "push, copy, pop")
	host.Free()
	device.Free()
}

func TestSharesKeepABlock(t *testing.T) {
	clean(t)
	b := take(t, cuda.DeviceMemory, 100, 0)
	address, share := b.Address(), b.Share()
	b.Free()
	b.Free()
	assert.Equal(t, address, share.Address())
	found := cuda.Find(address)
	require.NotNil(t, found)
	share.Free()
	assert.NotEmpty(t, cuda.LiveBlocks(1), "what was found is a holder")
	found.Free()
	assert.Nil(t, cuda.Find(address))
}

// Blocks and events that are not there, or no more, are errors or panics with a sentence.
func TestBlocksAndEventsAreGivenBackOnce(t *testing.T) {
	clean(t)
	b := take(t, cuda.DeviceMemory, 100, 0)
	event, err := on(0, 0).Record()
	require.NoError(t, err)
	b.Free()
	event.Free()
	for why, b := range map[string]*cuda.Block{
		"cuda.Block: it is used after Free": b, "cuda.Block: the zero value holds nothing": {},
	} {
		b.Free()
		for _, use := range []func(){func() { b.Address() }, func() { b.Bytes() },
			func() { b.ID() }, func() { b.Share() }} {
			assert.PanicsWithValue(t, why, use)
		}
		view := cuda.View{Data: 4096, Strides: []int64{8}}
		side := cuda.Side{View: view, Type: alloc.Float64, Block: b}
		_, _, err := b.InFlight()
		for _, err := range []error{
			err, b.RecordUse(on(0, 0)), b.Synchronize(t.Context()), on(0, 0).WaitBlock(b),
			cuda.CopyStrided(t.Context(), side, side, []int64{1}),
		} {
			require.ErrorIs(t, err, cuda.ErrArgument)
			assert.EqualError(t, err, why)
		}
	}
	for why, v := range map[string]*cuda.Event{
		"cuda.Event: it is used after Free": event, "cuda.Event: the zero value holds nothing": {},
	} {
		v.Free()
		_, err := v.Done()
		assert.EqualError(t, err, why)
		assert.EqualError(t, on(0, 0).WaitEvent(v), why)
	}
	assert.NotPanics(t, func() { cuda.LiveBlocks(-1) })
}

func TestLimit(t *testing.T) {
	clean(t)
	cuda.SetLimit(cuda.DeviceMemory, 0, 3<<20)
	a := take(t, cuda.DeviceMemory, 2<<20, 0)
	_, err := cuda.Alloc(cuda.Request{Span: 2 << 20})
	require.ErrorIs(t, err, cuda.ErrOverLimit)
	assert.EqualError(t, err,
		"2.0 MiB would exceed the limit: 2.0 MiB are in use and 3.0 MiB are allowed on GPU 0")
	take(t, cuda.Managed, 2<<20, 0).Free() // another pool
	a.Free()
	take(t, cuda.DeviceMemory, 2<<20, 0).Free()
	assert.EqualValues(t, 3<<20, cuda.PoolStats(cuda.DeviceMemory, 0).Limit)
}

func TestCacheIsBounded(t *testing.T) {
	clean(t)
	bound := cuda.PoolStats(cuda.DeviceMemory, 0).CacheBound
	defer cuda.SetCacheBound(cuda.DeviceMemory, 0, bound)
	cuda.SetCacheBound(cuda.DeviceMemory, 0, 4<<20)
	var blocks []*cuda.Block
	for range 8 {
		blocks = append(blocks, take(t, cuda.DeviceMemory, 1<<20, 0))
	}
	assert.EqualValues(t, 8<<20, cuda.PoolStats(cuda.DeviceMemory, 0).LiveBytes)
	for _, b := range blocks {
		b.Free()
	}
	s := cuda.PoolStats(cuda.DeviceMemory, 0)
	assert.EqualValues(t, 4<<20, s.CachedBytes)
	assert.EqualValues(t, 4, faketest.Blocks())
	assert.EqualValues(t, 3<<20, cuda.Trim(cuda.DeviceMemory, 0, 1<<20))
	assert.EqualValues(t, 1, faketest.Blocks())
}

func TestSmallBlocksShareAllocations(t *testing.T) {
	clean(t)
	var blocks []*cuda.Block
	seen := map[uintptr]bool{}
	for range 128 {
		b := take(t, cuda.Pinned, 400, 0)
		assert.False(t, seen[b.Address()])
		seen[b.Address()] = true
		blocks = append(blocks, b)
	}
	assert.EqualValues(t, 1, faketest.Count("cuMemHostAlloc"))
	assert.Zero(t, cuda.Trim(cuda.Pinned, 0, 0), "in use")
	for _, b := range blocks {
		b.Free()
	}
	assert.EqualValues(t, 64<<10, cuda.Trim(cuda.Pinned, 0, 0))
}

func TestLiveBlocksLargestFirst(t *testing.T) {
	clean(t)
	var blocks []*cuda.Block
	for i := range 600 { // the table grows
		b, err := cuda.Alloc(cuda.Request{Span: int64(1+i*7%600) * 1024, Plan: uint64(i)})
		require.NoError(t, err)
		blocks = append(blocks, b)
	}
	live := cuda.LiveBlocks(5)
	require.Len(t, live, 5)
	for i := 1; i < 5; i++ {
		assert.GreaterOrEqual(t, live[i-1].Bytes, live[i].Bytes)
	}
	assert.GreaterOrEqual(t, live[0].Bytes, int64(600*1024))
	for _, b := range blocks {
		found := cuda.Find(b.Address())
		assert.Equal(t, b.ID(), found.ID())
		found.Free()
	}
	for _, b := range blocks {
		b.Free()
	}
}
