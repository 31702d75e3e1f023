package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/cuda"
	"gridbuf/cuda/internal/faketest"
)

func TestNoDriver(t *testing.T) {
	if !inChild(t, "GRIDBUF_LIBCUDA=libcuda-nowhere.so.1") {
		return
	}
	assert.False(t, cuda.Started())
	err := cuda.Start()
	require.ErrorIs(t, err, cuda.ErrNoDriver)
	assert.ErrorContains(t, err, "there is no CUDA driver on this machine: libcuda-nowhere.so.1")
	_, err = cuda.Alloc(cuda.Request{Span: 64})
	assert.ErrorIs(t, err, cuda.ErrNoDriver, "each call says so")
	assert.Zero(t, cuda.Trim(cuda.DeviceMemory, 0, 0))
	assert.Zero(t, cuda.PoolStats(cuda.Pinned, 0).LiveBytes)
	assert.Nil(t, cuda.Find(4096))
}

func TestOldDriver(t *testing.T) {
	if !inChild(t, "FAKE_CUDA=version=10020") {
		return
	}
	err := cuda.Start()
	require.ErrorIs(t, err, cuda.ErrOldDriver)
	assert.ErrorContains(t, err, "it is for CUDA 10.2, and gridbuf needs 11.0 or later")
}

func TestDriverLacksAnEntryPoint(t *testing.T) {
	if !inChildWith(t, "-DcuMemcpyPeerAsync=absent_cuMemcpyPeerAsync") {
		return
	}
	err := cuda.Start()
	require.ErrorIs(t, err, cuda.ErrOldDriver)
	assert.ErrorContains(t, err, "it has no cuMemcpyPeerAsync")
}

func checkWithoutPools(t *testing.T) {
	clean(t)
	take(t, cuda.DeviceMemory, 1<<20, 0).Free()
	assert.EqualValues(t, 1, faketest.Count("cuMemAlloc_v2"))
	assert.Zero(t, faketest.Count("cuMemAllocAsync"))
	d, err := cuda.Describe(0)
	require.NoError(t, err)
	assert.False(t, d.MemoryPools)
}

func TestDeviceWithoutMemoryPools(t *testing.T) {
	if inChild(t, "FAKE_CUDA=pools=0") {
		checkWithoutPools(t)
	}
}

func TestMemoryPoolsNotWanted(t *testing.T) {
	if inChild(t, "GRIDBUF_STREAM_ORDERED=0") {
		checkWithoutPools(t)
	}
}

func TestDriverLacksMemoryPools(t *testing.T) {
	if inChildWith(t, "-DcuMemAllocAsync=absent_cuMemAllocAsync",
		"-DcuMemFreeAsync=absent_cuMemFreeAsync", "-DcuCtxRecordEvent=absent_cuCtxRecordEvent") {
		checkWithoutPools(t)
	}
}

func TestNoDevice(t *testing.T) {
	if !inChild(t, "FAKE_CUDA=devices=0") {
		return
	}
	err := cuda.Start()
	require.ErrorIs(t, err, cuda.ErrNoDevice)
	assert.ErrorContains(t, err, "there is no GPU that CUDA can use")
	assert.ErrorContains(t, err, "CUDA_ERROR_NO_DEVICE (100)")
}

func TestOtherErrorsOfInitAreTheDriversOwn(t *testing.T) {
	if !inChild(t, "FAKE_CUDA=init=400") {
		return
	}
	err := cuda.Start()
	assert.EqualError(t, err,
		"CUDA_ERROR_INVALID_HANDLE (400) from cuInit: invalid resource handle")
	var e *cuda.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, 400, e.Code)
}

// Each call on the way to a first block fails once; the next attempt gets one call further.
func TestStartFailsAtEveryCall(t *testing.T) {
	if !inChild(t) {
		return
	}
	for n := int64(1); n < 40; n++ {
		before := cuda.Started()
		faketest.Fail("", 1+int64(n)%5, 999, false)
		b, err := cuda.Alloc(cuda.Request{Span: 100})
		if err == nil {
			b.Free()
			break
		}
		assert.ErrorContains(t, err, "(999)", "call %d, started %v", n, before)
		faketest.NoFailures()
	}
	faketest.NoFailures()
	take(t, cuda.DeviceMemory, 100, 0).Free()
	cuda.Trim(cuda.DeviceMemory, 0, 0)
	assert.Zero(t, faketest.Blocks())
	assert.Zero(t, faketest.Balance())
	assert.Zero(t, faketest.Misuses())
}

func TestDevices(t *testing.T) {
	if !inChild(t, "FAKE_CUDA=devices=2") {
		return
	}
	clean(t)
	n, err := cuda.Devices()
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	d, err := cuda.Describe(1)
	require.NoError(t, err)
	assert.Equal(t, "fake GPU 1", d.Name)
	assert.Equal(t, 12040, d.DriverVersion)
	assert.EqualValues(t, 8<<30, d.Total)

	for _, device := range []int{2, -1, 63, 64, 1 << 20} {
		_, err = cuda.Alloc(cuda.Request{Device: device, Span: 8})
		require.ErrorIs(t, err, cuda.ErrNoDevice)
		assert.ErrorContains(t, err, "this process sees 2, numbered from 0")
	}

	// Memory of the second GPU belongs to its context, also when it is freed from elsewhere.
	b, err := cuda.Alloc(cuda.Request{Device: 1, Span: 1 << 20})
	require.NoError(t, err)
	at, err := cuda.PointerAttributes(b.Address())
	require.NoError(t, err)
	assert.Equal(t, cuda.Memory{Kind: cuda.DeviceMemory, Device: 1}, at)
	a := take(t, cuda.DeviceMemory, 1<<20, 0)
	require.NoError(t, on(0, 0).Set(a.Address(), 1, 7, 1<<20))
	require.NoError(t, on(1, 0).CopyPeer(b.Address(), a.Address(), 0, 1<<20))
	assert.Equal(t, byte(7), faketest.Look(b.Address(), 1<<20)[1<<20-1])

	// Pinned memory is for both: work of either keeps it from being used again.
	host := take(t, cuda.Pinned, 1<<20, 0)
	faketest.Hold(1)
	require.NoError(t, on(0, 0).Copy(cuda.Upload, a.Address(), host.Address(), 1<<20))
	require.NoError(t, host.RecordUse(cuda.Queue{Device: 0, Stream: 0}))
	require.NoError(t, on(1, 0).Copy(cuda.Upload, b.Address(), host.Address(), 1<<20))
	require.NoError(t, host.RecordUse(cuda.Queue{Device: 1, Stream: 0}))
	require.ErrorIs(t, host.RecordUse(cuda.Queue{Device: 2, Stream: 0}), cuda.ErrNoDevice)
	require.NoError(t, cuda.Synchronize(t.Context(), 1))
	_, inFlight, err := host.InFlight()
	require.NoError(t, err)
	assert.True(t, inFlight, "the first GPU still reads it")
	address := host.Address()
	host.Free()
	another := take(t, cuda.Pinned, 1<<20, 0)
	assert.NotEqual(t, address, another.Address())
	another.Free()
	faketest.Pump(faketest.Any, 1<<30)
	faketest.Hold(0)
	a.Free()
	b.Free()
	assert.Positive(t, cuda.Trim(cuda.DeviceMemory, 1, 0))
}

func TestWhat(t *testing.T) {
	clean(t)
	for _, k := range kinds {
		b := take(t, k, 4096, 0)
		at, err := cuda.PointerAttributes(b.Address() + 17)
		require.NoError(t, err)
		assert.Equal(t, k, at.Kind)
		b.Free()
	}
	at, err := cuda.PointerAttributes(12345)
	require.NoError(t, err)
	assert.Equal(t, cuda.Host, at.Kind)
}
