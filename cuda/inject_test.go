package cuda_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/cuda"
	"gridbuf/cuda/internal/faketest"
)

// everything is one of each thing that talks to the driver; the first error ends it, and
// whatever was made until then is let go of.
func everything() error {
	var blocks []*cuda.Block
	defer func() {
		for _, b := range blocks {
			b.Free()
		}
	}()
	get := func(k cuda.Kind, span int64, s cuda.Stream) (*cuda.Block, error) {
		b, err := cuda.Alloc(cuda.Request{Kind: k, Span: span, Stream: s})
		if err == nil {
			blocks = append(blocks, b)
		}
		return b, err
	}
	s, err := cuda.NewStream(0)
	if err != nil {
		return err
	}
	defer cuda.FreeStream(0, s)
	large, err := get(cuda.DeviceMemory, 1<<20, s)
	if err != nil {
		return err
	}
	small, err := get(cuda.DeviceMemory, 1000, 0)
	if err != nil {
		return err
	}
	host, err := get(cuda.Pinned, 1<<20, s)
	if err != nil {
		return err
	}
	managed, err := get(cuda.Managed, 5000, s)
	if err != nil {
		return err
	}
	event, err := on(0, s).Record()
	if err != nil {
		return err
	}
	defer event.Free()
	shape := []int64{20, 10}
	for _, act := range []func() error{
		func() error { return on(0, s).Copy(cuda.Upload, large.Address(), host.Address(), 1<<20) },
		func() error { return large.RecordUse(cuda.Queue{Stream: s}) },
		func() error { return large.RecordUse(cuda.Queue{Stream: 0}) },
		func() error {
			return on(0, s).CopyRows(cuda.Download, host.Address(), 64, large.Address(), 128, 64, 9)
		},
		func() error { return host.RecordUse(cuda.Queue{Stream: s}) },
		func() error { return on(0, s).Set(managed.Address(), 4, 1, 100) },
		func() error {
			return on(0, s).Fill(cuda.View{small.Address(), []int64{8, 0 + 8*20}[:1]}, []int64{9},
				[]byte("12345678"))
		},
		func() error {
			return on(0, s).Relayout(cuda.View{large.Address(), []int64{8, 160}},
				cuda.View{managed.Address(), []int64{80, 8}}, shape, 8)
		},
		func() error { _, _, err := large.InFlight(); return err },
		func() error { return cuda.Queue{Stream: 0}.WaitBlock(large) },
		func() error { return cuda.Queue{Stream: 0}.WaitEvent(event) },
		func() error { _, err := event.Done(); return err },
		func() error { _, err := cuda.PointerAttributes(large.Address()); return err },
		func() error { return cuda.Synchronize(context.Background(), 0) },
	} {
		if err := act(); err != nil {
			return err
		}
	}
	return nil
}

func failAtEveryCall(t *testing.T, code int, hold int) {
	clean(t)
	faketest.Hold(hold)
	finished := false
	for n := int64(1); n < 400 && !finished; n++ {
		for _, k := range kinds {
			cuda.Trim(k, 0, 0)
		}
		events := faketest.OpenEvents()
		faketest.Fail("", n, code, false)
		err := everything()
		finished = faketest.Failures() > 0 // it came through before its turn
		faketest.NoFailures()
		if finished {
			require.NoError(t, err)
		}
		require.Zero(t, faketest.Misuses(), "call %d: %s", n, faketest.LastMisuse())
		require.Zero(t, faketest.Balance(), "call %d", n)
		require.Empty(t, cuda.LiveBlocks(5), "call %d", n)
		require.Zero(t, faketest.OpenStreams(), "call %d", n)
		for _, k := range kinds {
			cuda.Trim(k, 0, 0)
			s := cuda.PoolStats(k, 0)
			require.Zero(t, s.LiveBytes, "call %d", n)
			require.Zero(t, s.CachedBytes, "call %d", n)
		}
		faketest.Pump(faketest.Any, 1<<40)
		require.Zero(t, faketest.Blocks(), "call %d: nothing leaks", n)
		require.LessOrEqual(t, faketest.OpenEvents()-events, int64(8),
			"call %d: events are used again", n)
		require.NoError(t, everything(), "the calls after it work")
	}
	assert.True(t, finished, "every call had its turn")
}

func TestOutOfMemoryAtEveryCall(t *testing.T)          { failAtEveryCall(t, 2, 0) }
func TestOutOfMemoryAtEveryCallWhileBusy(t *testing.T) { failAtEveryCall(t, 2, 1) }
func TestIllegalAddressAtEveryCall(t *testing.T)       { failAtEveryCall(t, 700, 0) }

func TestCacheGoesBeforeMemoryRunsOut(t *testing.T) {
	clean(t)
	faketest.SetMemory(10 << 20)
	bound := cuda.PoolStats(cuda.DeviceMemory, 0).CacheBound
	cuda.SetCacheBound(cuda.DeviceMemory, 0, 1<<40)
	defer cuda.SetCacheBound(cuda.DeviceMemory, 0, bound)
	a, b := take(t, cuda.DeviceMemory, 4<<20, 0), take(t, cuda.DeviceMemory, 4<<20, 0)
	a.Free()
	b.Free()
	managed := take(t, cuda.Managed, 1<<20, 0)
	managed.Free()
	c := take(t, cuda.DeviceMemory, 9<<20, 0)
	assert.EqualValues(t, 1, faketest.Blocks())

	_, err := cuda.Alloc(cuda.Request{Span: 3 << 20})
	require.ErrorIs(t, err, cuda.ErrNoMemory)
	assert.EqualError(t, err,
		"out of GPU memory: 3.0 MiB were asked for; 1 gridbuf buffers hold 9.0 MiB, 0 B are "+
			"cached, "+
			"and 1.0 MiB of the 10.0 MiB of GPU 0 are free. CUDA_ERROR_OUT_OF_MEMORY (2) from "+
			"cuMemAllocAsync: out of memory")
	var e *cuda.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, 2, e.Code)
	c.Free()
	take(t, cuda.DeviceMemory, 3<<20, 0).Free()
}

func TestOneFailureOfTheDriverIsNotTheEnd(t *testing.T) {
	clean(t)
	for name, k := range map[string]cuda.Kind{"cuMemAllocAsync": 0, "cuMemHostAlloc": cuda.Pinned,
		"cuMemAllocManaged": cuda.Managed} {
		faketest.Fail(name, 1, 2, false)
		take(t, k, 1<<20, 0).Free() // trimmed, and asked again
		assert.EqualValues(t, 2, faketest.Count(name))
	}
}

func TestContextIsGoneWhenTheProcessEnds(t *testing.T) {
	for _, code := range []int{4, 709} {
		clean(t)
		a, b, c := take(t, cuda.DeviceMemory, 1<<20, 0), take(t, cuda.Pinned, 100, 0), take(t,
			cuda.Managed, 100, 0)
		s, err := cuda.NewStream(0)
		require.NoError(t, err)
		e, err := on(0, s).Record()
		require.NoError(t, err)
		require.NoError(t, a.RecordUse(cuda.Queue{Stream: s}))
		faketest.ShutDown(code)
		a.Free()
		b.Free()
		c.Free()
		e.Free()
		_, err = cuda.Alloc(cuda.Request{Span: 5 << 20})
		assert.Error(t, err)
		assert.EqualValues(t, 0, cuda.PoolStats(cuda.DeviceMemory, 0).LiveBytes)
		faketest.ShutDown(0)
		cuda.FreeStream(0, s)
	}
}

func TestDestroyedContext(t *testing.T) {
	clean(t)
	b := take(t, cuda.DeviceMemory, 1<<20, 0)
	faketest.DestroyContext(0, 1)
	_, err := cuda.Alloc(cuda.Request{Span: 5 << 20})
	assert.EqualError(t, err,
		"CUDA_ERROR_CONTEXT_IS_DESTROYED (709) from cuCtxPushCurrent_v2: context is destroyed")
	b.Free()
	faketest.DestroyContext(0, 0)
}

func TestForkedChildIsRefused(t *testing.T) {
	clean(t)
	b := take(t, cuda.DeviceMemory, 100, 0)
	status, text := faketest.Fork(b.Address())
	assert.Equal(t, 4, status, "GB_CUDA_FORKED")
	assert.Contains(t, text, "CUDA cannot be used after fork")
	b.Free() // the parent goes on
	take(t, cuda.DeviceMemory, 100, 0).Free()
}

func TestForkBeforeFirstUse(t *testing.T) {
	if !inChild(t) {
		return
	}
	status, text := faketest.Fork(0)
	assert.Equal(t, 0, status, text)
	assert.False(t, cuda.Started())
}

func TestForkAfterAnotherLibraryUsedTheDriver(t *testing.T) {
	if !inChild(t) {
		return
	}
	require.NoError(t, faketest.Init())
	status, text := faketest.Fork(0)
	assert.Equal(t, 4, status)
	assert.Contains(t, text, "CUDA cannot be used after fork")
}

func TestGuardBytesOfDebugMode(t *testing.T) {
	if !inChild(t, "GRIDBUF_DEBUG=1") {
		return
	}
	clean(t)
	for _, k := range kinds {
		b := take(t, k, 1000, 0)
		assert.EqualValues(t, 1000, b.Bytes())
		assert.Equal(t, byte(0xDB), faketest.Look(b.Address(), 1000)[999], "new memory is poison")
		said := stderrOf(t, b.Free)
		assert.Empty(t, said)

		b = take(t, k, 1000, 0)
		faketest.Look(b.Address(), 1008)[1004] = 1
		address := b.Address()
		said = stderrOf(t, b.Free)
		assert.Regexp(t, `gridbuf: write past the end of .* buffer #\d+ of 1000 bytes, at byte 1004`,
			said)
		assert.Equal(t, byte(0xDB), faketest.Look(address, 1)[0], "freed memory is poison")
	}
}
