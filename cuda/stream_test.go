package cuda_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/cuda"
	"gridbuf/cuda/internal/faketest"
)

func newStream(t *testing.T) cuda.Stream {
	t.Helper()
	s, err := cuda.NewStream(0)
	require.NoError(t, err)
	t.Cleanup(func() { cuda.FreeStream(0, s) })
	return s
}

func TestBlockGoesToAnotherStreamOnlyWhenItsWorkIsDone(t *testing.T) {
	clean(t)
	a, b := newStream(t), newStream(t)
	for _, first := range []cuda.Stream{0, a, cuda.Stream(faketest.ForeignStream())} {
		faketest.Hold(1)
		block := take(t, cuda.DeviceMemory, 1<<20, first)
		address := block.Address()
		require.NoError(t, on(0, first).Set(address, 1, 1, 1<<20))
		block.Free()

		other := take(t, cuda.DeviceMemory, 1<<20, b)
		assert.NotEqual(t, address, other.Address(), "its work is in flight")
		own := take(t, cuda.DeviceMemory, 1<<20, first)
		// a context's event has been recorded for it: it is free by now
		if first != 0 && first != a {
			assert.NotEqual(t, address, own.Address())
		}
		own.Free()
		other.Free()

		faketest.Pump(faketest.Any, 1<<30)
		faketest.Hold(0)
		seen := map[uintptr]bool{}
		var all []*cuda.Block
		for range 3 {
			block := take(t, cuda.DeviceMemory, 1<<20, b)
			seen[block.Address()] = true
			all = append(all, block)
		}
		assert.True(t, seen[address], "now it may go")
		for _, block := range all {
			block.Free()
		}
		cuda.Trim(cuda.DeviceMemory, 0, 0)
	}
}

func TestOwnStreamGetsItsBlockBackAtOnce(t *testing.T) {
	clean(t)
	s := newStream(t)
	faketest.Hold(1)
	for range 3 {
		block := take(t, cuda.DeviceMemory, 1<<20, s)
		require.NoError(t, on(0, s).Set(block.Address(), 1, 1, 1<<20))
		require.NoError(t, block.RecordUse(cuda.Queue{Stream: s}))
		block.Free()
	}
	assert.EqualValues(t, 1, faketest.Count("cuMemAllocAsync"))
}

// The host writes pinned and managed memory without asking a stream.
func TestPinnedAndManagedBlocksWaitForMarkedWork(t *testing.T) {
	clean(t)
	s := newStream(t)
	for _, k := range []cuda.Kind{cuda.Pinned, cuda.Managed} {
		faketest.Hold(1)
		device := take(t, cuda.DeviceMemory, 1<<20, s)
		block := take(t, k, 1<<20, s)
		require.NoError(t, on(0, s).Copy(cuda.Upload, device.Address(), block.Address(), 1<<20))
		require.NoError(t, block.RecordUse(cuda.Queue{Stream: s}))
		address := block.Address()
		block.Free()
		again := take(t, k, 1<<20, s)
		assert.NotEqual(t, address, again.Address())
		again.Free()
		assert.Positive(t, cuda.Trim(k, 0, 0),
			"trimming waits for the copy: the fake would stop at freed memory")
		device.Free()
		faketest.Pump(faketest.Any, 1<<30)
	}
}

func TestLegacyStreamIsReusedByItselfAndPerThreadStreamIsNot(t *testing.T) {
	clean(t)
	faketest.Hold(1)
	block := take(t, cuda.DeviceMemory, 1<<20, 0)
	address := block.Address()
	block.Free()
	block = take(t, cuda.DeviceMemory, 1<<20, 1)
	assert.Equal(t, address, block.Address(), "0 and 1 are the same stream")
	block.Free()
	done := make(chan uintptr)
	faketest.OnThread(func() {
		b := take(t, cuda.DeviceMemory, 3<<20, 2)
		address := b.Address()
		require.NoError(t, on(0, 2).Set(address, 1, 1, 1<<20))
		b.Free()
		go faketest.OnThread(func() {
			b := take(t, cuda.DeviceMemory, 3<<20, 2)
			defer b.Free()
			done <- b.Address()
		})
		assert.NotEqual(t, address, <-done)
	})
}

func TestDroppedStreamLeavesItsBlocks(t *testing.T) {
	clean(t)
	dropStream(t)
}

func TestDroppedStreamWithAnOlderDriver(t *testing.T) {
	if inChildWith(t, "-DcuCtxRecordEvent=absent") {
		clean(t)
		dropStream(t)
	}
}

func dropStream(t *testing.T) {
	t.Helper()
	s, err := cuda.NewStream(0)
	require.NoError(t, err)
	faketest.Hold(1)
	freed, held := take(t, cuda.DeviceMemory, 1<<20, s), take(t, cuda.DeviceMemory, 1<<20, s)
	addresses := []uintptr{freed.Address(), held.Address()}
	for _, address := range addresses {
		require.NoError(t, on(0, s).Set(address, 1, 1, 1<<20))
	}
	freed.Free()
	cuda.FreeStream(0, s)
	held.Free()
	other := take(t, cuda.DeviceMemory, 1<<20, 0)
	assert.NotContains(t, addresses, other.Address())
	faketest.Pump(faketest.Any, 1<<30)
	faketest.Hold(0)
	last := take(t, cuda.DeviceMemory, 1<<20, newStream(t))
	assert.Contains(t, addresses, last.Address())
	other.Free()
	last.Free()
}

func TestWorkInFlightIsWaitedFor(t *testing.T) {
	clean(t)
	a, b := newStream(t), newStream(t)
	block := take(t, cuda.DeviceMemory, 4096, a)
	defer block.Free()
	before := faketest.Count("")
	_, inFlight, err := block.InFlight()
	require.NoError(t, err)
	assert.False(t, inFlight)
	assert.Equal(t, before, faketest.Count(""), "nothing is asked of the driver")

	faketest.Hold(1)
	require.NoError(t, on(0, a).Set(block.Address(), 1, 1, 4096))
	require.NoError(t, block.RecordUse(cuda.Queue{Stream: a}))
	s, inFlight, err := block.InFlight()
	require.NoError(t, err)
	assert.True(t, inFlight)
	assert.Equal(t, a, s)

	// A second stream: one answer stands for both.
	require.NoError(t, on(0, b).Set(block.Address()+2048, 1, 2, 100))
	require.NoError(t, block.RecordUse(cuda.Queue{Stream: b}))
	s, inFlight, err = block.InFlight()
	require.NoError(t, err)
	assert.True(t, inFlight)
	e, err := on(0, s).Record()
	require.NoError(t, err)
	faketest.Pump(uintptr(s), 1<<30)
	done, err := e.Done()
	require.NoError(t, err)
	assert.False(t, done, "it waits for the other stream")
	faketest.Pump(faketest.Any, 1<<30)
	done, err = e.Done()
	require.NoError(t, err)
	assert.True(t, done)
	e.Free()
	_, inFlight, err = block.InFlight()
	require.NoError(t, err)
	assert.False(t, inFlight)

	require.NoError(t, on(0, a).Set(block.Address(), 1, 1, 4096))
	require.NoError(t, block.RecordUse(cuda.Queue{Stream: a}))
	require.NoError(t, cuda.Queue{Stream: b}.WaitBlock(block))
	require.NoError(t, on(0, b).Set(block.Address(), 1, 9, 4096))
	assert.Zero(t, faketest.Pump(uintptr(b), 100), "b waits")
	faketest.Pump(faketest.Any, 1<<30)
	assert.Equal(t, byte(9), faketest.Look(block.Address(), 1)[0])
}

func TestWaitComesBackWhenTimeIsUp(t *testing.T) {
	clean(t)
	faketest.Hold(1)
	b := take(t, cuda.DeviceMemory, 4096, 0)
	defer b.Free()
	require.NoError(t, on(0, 0).Set(b.Address(), 1, 1, 4096))
	e, err := on(0, 0).Record()
	require.NoError(t, err)
	defer e.Free()
	soon, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, e.Wait(soon), context.DeadlineExceeded)
	queries := faketest.Count("cuEventQuery")
	assert.Less(t, queries, int64(60), "it sleeps between two questions")
	faketest.RunEvery(100)
	err = e.Wait(t.Context())
	faketest.RunEvery(0)
	require.NoError(t, err)
	assert.ErrorIs(t, e.Wait(soon), context.DeadlineExceeded, "asked first")
	calls := faketest.Count("")
	done, err := e.Done()
	require.NoError(t, err)
	assert.True(t, done)
	assert.Equal(t, calls, faketest.Count(""), "a done event is not asked about again")
}

// Waits for a GPU and for a block ask the context first, and end with the work.
func TestSynchronizeAsksItsContext(t *testing.T) {
	clean(t)
	b := take(t, cuda.DeviceMemory, 4096, 0)
	defer b.Free()
	ended, end := context.WithCancel(t.Context())
	end()
	faketest.Hold(1)
	require.NoError(t, on(0, 0).Set(b.Address(), 1, 7, 4096))
	require.NoError(t, b.RecordUse(on(0, 0)))
	calls := faketest.Count("")
	assert.ErrorIs(t, cuda.Synchronize(ended, 0), context.Canceled)
	assert.ErrorIs(t, b.Synchronize(ended), context.Canceled)
	assert.Equal(t, calls, faketest.Count(""), "the driver is not asked")
	assert.Zero(t, faketest.Look(b.Address(), 1)[0])
	may, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	require.NoError(t, b.Synchronize(may))
	assert.Equal(t, byte(7), faketest.Look(b.Address(), 1)[0])
	require.NoError(t, cuda.Synchronize(may, 0))
	assert.Error(t, cuda.Synchronize(may, 77))
	var none context.Context
	assert.NoError(t, cuda.Synchronize(none, 0))
}

// Threads take blocks on streams of theirs, write them asynchronously, read them back and
// let them go while work is in flight. Were a block given to another stream too early, its
// bytes would be those of another thread.
func TestThreadsAndStreamsWithAsynchronousWork(t *testing.T) {
	clean(t)
	streams := []cuda.Stream{0, 2, newStream(t), newStream(t),
		cuda.Stream(faketest.ForeignStream())}
	faketest.RunEvery(20)
	defer faketest.RunEvery(0)
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			faketest.OnThread(func() {
				random := rand.New(rand.NewPCG(uint64(worker), 7))
				for i := range 60 {
					span := int64(1000) << (10 * (i % 2))
					s := streams[random.IntN(len(streams))]
					value := byte(worker*60 + i)
					device, err := cuda.Alloc(cuda.Request{Span: span, Stream: s})
					if !assert.NoError(t, err) {
						return
					}
					host, err := cuda.Alloc(cuda.Request{Kind: cuda.Pinned, Span: span})
					if !assert.NoError(t, err) {
						return
					}
					assert.NoError(t, on(0, s).Set(device.Address(), 1, uint32(value), span))
					assert.NoError(t, on(0, s).Copy(cuda.Download, host.Address(), device.Address(),
						span))
					assert.NoError(t, host.RecordUse(cuda.Queue{Stream: s}))
					if i%3 == 0 {
						assert.NoError(t, device.RecordUse(cuda.Queue{Stream: s}))
					}
					device.Free()
					if i%2 == 0 {
						e, err := on(0, s).Record()
						assert.NoError(t, err)
						assert.NoError(t, e.Wait(t.Context()))
						e.Free()
						for _, v := range []int64{0, span / 2, span - 1} {
							assert.Equal(t, value, faketest.Host(host.Address(), int(span))[v])
						}
					}
					host.Free()
					if i%20 == 19 {
						cuda.Trim(cuda.DeviceMemory, 0, 1<<20)
					}
				}
			})
		})
	}
	group.Wait()
}
