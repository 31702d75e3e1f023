package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/cuda"
	"gridbuf/cuda/internal/faketest"
)

// onTwoGPUs runs the test in a process that sees two; every race is misuse there.
func onTwoGPUs(t *testing.T) bool {
	t.Helper()
	if !inChild(t, "FAKE_CUDA=devices=2") {
		return false
	}
	clean(t)
	t.Cleanup(func() {
		faketest.Hold(0)
		faketest.Pump(faketest.Any, 1<<40)
		faketest.Watch(0)
		for _, k := range kinds {
			cuda.Trim(k, 1, 0)
		}
	})
	require.NoError(t, cuda.Synchronize(t.Context(), 1))
	faketest.Watch(1)
	faketest.Hold(1)
	return true
}

func takeOn(t *testing.T, device int, k cuda.Kind, span int64, s cuda.Stream) *cuda.Block {
	t.Helper()
	b, err := cuda.Alloc(cuda.Request{Kind: k, Device: device, Span: span, Stream: s})
	require.NoError(t, err)
	return b
}

func TestAStreamOfAnotherGPUIsMisuse(t *testing.T) {
	if !onTwoGPUs(t) {
		return
	}
	s := cuda.Stream(faketest.StreamOn(1))
	b := takeOn(t, 0, cuda.DeviceMemory, 1<<20, 0)
	assert.ErrorContains(t, on(0, s).Set(b.Address(), 4, 1, 100), "CUDA_ERROR_INVALID_HANDLE")
	_, err := on(0, s).Record()
	assert.ErrorContains(t, err, "CUDA_ERROR_INVALID_HANDLE")
	assert.EqualValues(t, 2, faketest.Misuses())
	faketest.ClearMisuses()
	b.Free()
}

// Uses that CUDA refuses, or answers with an illegal address later: a GPU's own memory belongs to
// it.
func TestMemoryOfAnotherGPUIsMisuse(t *testing.T) {
	if !onTwoGPUs(t) {
		return
	}
	here, there := takeOn(t, 0, cuda.DeviceMemory, 1<<16, 0), takeOn(t, 1, cuda.DeviceMemory, 1<<16,
		0)
	host := takeOn(t, 0, cuda.Pinned, 1<<16, 0)
	view := func(b *cuda.Block) cuda.View {
		return cuda.View{Data: b.Address(),
			Strides: []int64{8, 1024}}
	}
	for what, act := range map[string]func() error{
		"a memset": func() error { return on(0, 0).Set(there.Address(), 4, 1, 100) },
		"upload": func() error {
			return on(0, 0).Copy(cuda.Upload, there.Address(),
				host.Address(), 100)
		},
		"download": func() error {
			return on(1, 0).Copy(cuda.Download, host.Address(),
				here.Address(), 100)
		},
		"within": func() error {
			return on(0, 0).Copy(cuda.Within, here.Address(),
				there.Address(), 100)
		},
	} {
		assert.ErrorContains(t, act(), "CUDA_ERROR_INVALID_VALUE", what)
		assert.EqualValues(t, 1, faketest.Misuses(), what)
		faketest.ClearMisuses()
	}
	require.NoError(t, on(0, 0).Relayout(cuda.View{Data: here.Address(), Strides: []int64{512, 8}},
		view(there), []int64{64, 64}, 8))
	faketest.Pump(faketest.Any, 1<<30)
	assert.Positive(t, faketest.Misuses(), "a kernel that reads it is found out when it runs")
	faketest.ClearMisuses()
	require.NoError(t, on(0, 0).CopyPeer(here.Address(), there.Address(), 1, 100))
	require.NoError(t, on(1, 0).Copy(cuda.Download, host.Address()+4096, there.Address(), 100))
	faketest.Pump(faketest.Any, 1<<30)
	assert.Zero(t, faketest.Misuses(), faketest.LastMisuse())
	for _, b := range []*cuda.Block{here, there, host} {
		b.Free()
	}
}

func TestTheFakeDriverFindsRaces(t *testing.T) {
	if !onTwoGPUs(t) {
		return
	}
	a, b := cuda.Stream(faketest.StreamOn(0)), cuda.Stream(faketest.StreamOn(0))
	block := takeOn(t, 0, cuda.DeviceMemory, 1<<20, a)
	require.NoError(t, on(0, a).Set(block.Address(), 4, 1, 100))
	require.NoError(t, on(0, b).Set(block.Address()+400, 4, 1, 100)) // beside it
	assert.Zero(t, faketest.Misuses())
	require.NoError(t, on(0, b).Set(block.Address()+396, 4, 1, 100))
	assert.EqualValues(t, 1, faketest.Misuses())
	faketest.ClearMisuses()
	require.NoError(t, cuda.Queue{Stream: b}.WaitQueue(cuda.Queue{Stream: a}))
	require.NoError(t, on(0, b).Set(block.Address(), 4, 1, 100))
	assert.Zero(t, faketest.Misuses(), "it is behind the other one now")
	faketest.Pump(faketest.Any, 1<<30)
	block.Free()
}

func TestWhoseStreamItIs(t *testing.T) {
	if !onTwoGPUs(t) {
		return
	}
	for device := range 2 {
		owner, one, err := cuda.Owner(cuda.Stream(faketest.StreamOn(device)))
		require.NoError(t, err)
		assert.True(t, one)
		assert.Equal(t, device, owner)
	}
	for s := range cuda.Stream(3) {
		_, one, err := cuda.Owner(s)
		require.NoError(t, err)
		assert.False(t, one)
	}
}

// The legacy default stream and each thread's own are in order by themselves, on one GPU.
func TestWhatIsInOrderByItselfIsNotWaitedFor(t *testing.T) {
	if !onTwoGPUs(t) {
		return
	}
	own := cuda.Stream(faketest.StreamOn(0))
	faketest.OnThread(func() {
		for _, c := range []struct {
			later, earlier cuda.Queue
			waits          int64
		}{
			{cuda.Queue{Stream: 0}, cuda.Queue{Stream: 1}, 0},
			{cuda.Queue{Stream: 2}, cuda.Queue{Stream: 0}, 0},
			{cuda.Queue{Stream: 1}, cuda.Queue{Stream: 2}, 0},
			{cuda.Queue{Stream: own}, cuda.Queue{Stream: own}, 0},
			{cuda.Queue{Stream: own}, cuda.Queue{Stream: 0}, 1},
			{cuda.Queue{Stream: 2}, cuda.Queue{Stream: own}, 1},
			{cuda.Queue{Device: 1, Stream: 0}, cuda.Queue{Stream: 0}, 1},
			{cuda.Queue{Device: 1, Stream: 2}, cuda.Queue{Stream: 2}, 1},
		} {
			before := faketest.Count("cuStreamWaitEvent")
			require.NoError(t, c.later.WaitQueue(c.earlier))
			assert.Equal(t, c.waits, faketest.Count("cuStreamWaitEvent")-before, "%v", c)
		}
	})
}

// A block whose own stream is through with it is not free while another GPU reads it.
func TestABlockThatAnotherGPUReadsIsNotHandedOut(t *testing.T) {
	if !onTwoGPUs(t) {
		return
	}
	there := cuda.Queue{Device: 1, Stream: 0}
	for _, s := range []cuda.Stream{0, cuda.Stream(faketest.StreamOn(0))} {
		src, dst := takeOn(t, 0, cuda.DeviceMemory, 1<<20, s), takeOn(t, 1, cuda.DeviceMemory,
			1<<20, 0)
		require.NoError(t, on(1, 0).CopyPeer(dst.Address(), src.Address(), 0, 1<<20))
		require.NoError(t, src.RecordUse(there))
		address := src.Address()
		src.Free()
		again := takeOn(t, 0, cuda.DeviceMemory, 1<<20, s)
		assert.NotEqual(t, address, again.Address())
		again.Free()
		// waits for the other GPU: the fake stops at freed memory
		cuda.Trim(cuda.DeviceMemory, 0, 0)
		dst.Free()
		faketest.Pump(faketest.Any, 1<<30)
	}
}

func TestPendingWorkElsewhere(t *testing.T) {
	if !onTwoGPUs(t) {
		return
	}
	s := cuda.Stream(faketest.StreamOn(1))
	host, there := takeOn(t, 0, cuda.Pinned, 1<<20, 0), takeOn(t, 1, cuda.DeviceMemory, 1<<20, s)
	require.NoError(t, on(1, s).Set(there.Address(), 4, 0x07070707, 1<<18))
	require.NoError(t, on(1, s).Copy(cuda.Download, host.Address(), there.Address(), 1<<20))
	require.NoError(t, host.RecordUse(cuda.Queue{Device: 1, Stream: s}))
	here := takeOn(t, 0, cuda.DeviceMemory, 1<<20, 0)
	mine := cuda.Queue{Stream: cuda.Stream(faketest.StreamOn(0))}
	require.NoError(t, mine.WaitBlock(host))
	require.NoError(t, on(0, mine.Stream).Copy(cuda.Upload, here.Address(), host.Address(), 1<<20))
	assert.Zero(t, faketest.Misuses(), faketest.LastMisuse())
	require.NoError(t, host.Synchronize(t.Context()), "the host waits for the GPU that works on it")
	assert.Equal(t, byte(7), faketest.Host(host.Address(), 1)[0])
	faketest.Pump(faketest.Any, 1<<30)
	assert.Equal(t, byte(7), faketest.Look(here.Address(), 1)[0])
	host.Free()
	here.Free()
	there.Free()
}

func TestTheFirstLooksDoNotSleep(t *testing.T) {
	clean(t)
	b := take(t, cuda.DeviceMemory, 4096, 0)
	defer b.Free()
	faketest.Hold(1)
	require.NoError(t, on(0, 0).Set(b.Address(), 1, 1, 4096))
	e, err := on(0, 0).Record()
	require.NoError(t, err)
	defer e.Free()
	before := faketest.Count("")
	faketest.Awaited(10)
	require.NoError(t, e.Wait(t.Context()))
	assert.EqualValues(t, 12, faketest.Count("")-before,
		"ten questions, and its context is pushed once")
}

func TestFillsThatNeedNoKernel(t *testing.T) {
	clean(t)
	b := take(t, cuda.DeviceMemory, 4096, 0)
	defer b.Free()
	value := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	before := faketest.Count("cuLaunchKernel")
	require.NoError(t, on(0, 0).Fill(cuda.View{Data: b.Address(), Strides: nil}, nil, value))
	assert.Equal(t, value, faketest.Look(b.Address(), 8))
	require.NoError(t, on(0, 0).Fill(cuda.View{Data: b.Address(), Strides: []int64{8}}, []int64{9},
		[]byte{5, 5, 5, 5, 5, 5, 5, 5}))
	require.NoError(t, on(0, 0).Fill(cuda.View{Data: b.Address() + 1, Strides: []int64{1}},
		[]int64{9}, []byte{6}))
	assert.Equal(t, []byte{5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 5}, faketest.Look(b.Address(), 11))
	assert.Equal(t, before, faketest.Count("cuLaunchKernel"))
}
