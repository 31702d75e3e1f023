package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/cuda"
	"gridbuf/cuda/internal/faketest"
)

// cupy does not say which stream uses its memory: a freed block goes to no stream until all
// streams are through.
func TestMemoryOfCupyWaitsForAllStreams(t *testing.T) {
	clean(t)
	s := faketest.ForeignStream()
	faketest.Hold(1)
	a := faketest.CupyMalloc(1<<20, 0)
	require.NotZero(t, a)
	assert.EqualValues(t, 1, faketest.Count("cuMemAlloc_v2"),
		"not ordered by a stream that may not be the one that uses it")
	require.NoError(t, on(0, cuda.Stream(s)).Set(a, 1, 1, 1<<20))
	faketest.CupyFree(a)
	b := faketest.CupyMalloc(1<<20, 0)
	assert.NotEqual(t, a, b)
	c := take(t, cuda.DeviceMemory, 1<<20, 0)
	assert.NotEqual(t, a, c.Address())
	c.Free()
	faketest.CupyFree(b)
	faketest.Pump(faketest.Any, 1<<30)
	faketest.Hold(0)
	seen := []uintptr{faketest.CupyMalloc(1<<20, 0), faketest.CupyMalloc(1<<20, 0),
		faketest.CupyMalloc(1<<20, 0)}
	assert.Contains(t, seen, a)
	for _, data := range seen {
		faketest.CupyFree(data)
	}
}

// A driver older than 12.5 cannot be asked about all streams; the device is waited for.
func TestMemoryOfCupyWithAnOlderDriver(t *testing.T) {
	if !inChildWith(t, "-DcuCtxRecordEvent=absent") {
		return
	}
	clean(t)
	a := faketest.CupyMalloc(1<<20, 0)
	faketest.CupyFree(a)
	b := faketest.CupyMalloc(1<<20, 0)
	assert.NotEqual(t, a, b)
	faketest.CupyFree(b)
	require.NoError(t, cuda.Synchronize(t.Context(), 0))
	c := faketest.CupyMalloc(1<<20, 0)
	assert.Contains(t, []uintptr{a, b}, c)
	faketest.CupyFree(c)
}

func TestOtherMemoryOfCupy(t *testing.T) {
	clean(t)
	for k, data := range map[cuda.Kind]uintptr{cuda.Managed: faketest.CupyMallocManaged(1000, 0),
		cuda.Pinned: faketest.CupyMallocPinned(1000)} {
		at, err := cuda.PointerAttributes(data)
		require.NoError(t, err)
		assert.Equal(t, k, at.Kind)
		faketest.CupyFree(data)
	}
	faketest.CupyFree(0)
	assert.Zero(t, faketest.CupyMalloc(1<<50, 0), "no exception: NULL")
	assert.Zero(t, faketest.CupyMalloc(8, 99))
	assert.Zero(t, faketest.CupyMalloc(-1, 0))
}

func TestMemoryOfTorchFollowsItsStreams(t *testing.T) {
	clean(t)
	s := faketest.ForeignStream()
	faketest.Hold(1)
	a := faketest.TorchMalloc(1<<20, 0, s)
	require.NotZero(t, a)
	faketest.TorchFree(a, 1<<20, s)
	assert.Equal(t, a, faketest.TorchMalloc(1<<20, 0, s), "the same stream has it back at once")

	faketest.TorchRecordStream(a, 0) // used there too
	require.NoError(t, on(0, 0).Set(a, 1, 1, 1<<20))
	faketest.TorchFree(a, 1<<20, s)
	b := faketest.TorchMalloc(1<<20, 0, s)
	assert.NotEqual(t, a, b)
	faketest.TorchFree(b, 1<<20, s)
}

func TestManagedMemoryStaysWithinWhatIsFree(t *testing.T) {
	clean(t)
	faketest.SetMemory(10 << 20)
	a := take(t, cuda.DeviceMemory, 8<<20, 0)
	_, err := cuda.Alloc(cuda.Request{Kind: cuda.Managed, Span: 4 << 20})
	require.ErrorIs(t, err, cuda.ErrNoMemory)
	assert.ErrorContains(t, err,
		"out of managed memory: 4.0 MiB were asked for; 0 gridbuf buffers hold 0 B")
	assert.Zero(t, faketest.Count("cuMemAllocManaged"))
	a.Free()
	take(t, cuda.Managed, 4<<20, 0).Free() // the device pool's cache went for it
}
