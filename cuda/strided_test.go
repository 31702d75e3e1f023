package cuda_test

import (
	"context"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/cuda"
	"gridbuf/cuda/internal/faketest"
)

// side is a block of n elements, seen with these strides.
func side(t *testing.T, kind cuda.Kind, typ alloc.Type, n int64, strides ...int64) cuda.Side {
	t.Helper()
	b := take(t, kind, n*typ.Size(), 0)
	t.Cleanup(b.Free)
	return cuda.Side{View: cuda.View{Data: b.Address(), Strides: strides}, Kind: kind, Type: typ,
		Block: b}
}

func finished(t *testing.T) {
	t.Helper()
	event, err := on(0, 0).Record()
	require.NoError(t, err)
	defer event.Free()
	require.NoError(t, event.Wait(t.Context()))
}

func TestStridedCopiesOfAnyLayout(t *testing.T) {
	clean(t)
	shape := []int64{300, 40, 7}
	n := shape[0] * shape[1] * shape[2]
	for _, kind := range []cuda.Kind{cuda.Pinned, cuda.Host} {
		host := side(t, cuda.Pinned, alloc.Float64, n, 40*7*8, 7*8, 8)
		host.Kind = kind // pinned memory may be taken for pageable
		for i := range n {
			binary.NativeEndian.PutUint64(faketest.Host(host.Data+uintptr(8*i), 8),
				math.Float64bits(float64(i)))
		}
		gpu := side(t, cuda.DeviceMemory, alloc.Float64, n, 8, 300*8, 300*40*8)
		turned := side(t, cuda.DeviceMemory, alloc.Float64, n, 40*7*8, 8, 40*8)
		back := side(t, cuda.Pinned, alloc.Float32, n, 4, 300*4, 300*40*4)
		require.NoError(t, cuda.CopyStrided(t.Context(), gpu, host, shape))
		require.NoError(t, cuda.CopyStrided(t.Context(), turned, gpu, shape))
		require.NoError(t, cuda.CopyStrided(t.Context(), back, turned, shape), "converted on the way")
		finished(t)
		for _, at := range [][3]int64{{0, 0, 0}, {299, 39, 6}, {17, 5, 3}, {1, 39, 0}} {
			element := at[0] + 300*at[1] + 300*40*at[2]
			bits := binary.NativeEndian.Uint32(faketest.Host(back.Data+uintptr(4*element), 4))
			assert.InDelta(t, at[0]*40*7+at[1]*7+at[2], math.Float32frombits(bits), 0, at)
		}
	}
}

// A copy of pageable memory waits for its staging buffers, here of a GPU that does no work.
func TestAContextEndsAStridedCopy(t *testing.T) {
	clean(t)
	const n = 64 << 20
	host := side(t, cuda.Pinned, alloc.Uint8, n, 1)
	host.Kind = cuda.Host
	gpu := side(t, cuda.DeviceMemory, alloc.Uint8, n, 1)
	backward := cuda.Side{View: cuda.View{Data: gpu.Data + n - 2, Strides: []int64{-2}},
		Kind: gpu.Kind, Type: gpu.Type, Block: gpu.Block}
	ended, end := context.WithCancel(t.Context())
	end()
	assert.ErrorIs(t, cuda.CopyStrided(ended, gpu, host, []int64{n}), context.Canceled)
	finished(t)

	faketest.Hold(1)
	soon, stop := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer stop()
	err := cuda.CopyStrided(soon, backward, host, []int64{n / 2})
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	faketest.Hold(0)
	require.NoError(t, cuda.Synchronize(t.Context(), 0))
	require.NoError(t, cuda.CopyStrided(t.Context(), backward, host, []int64{n / 2}))
	var none context.Context
	require.NoError(t, cuda.CopyStrided(none, backward, host, []int64{n / 2}))
	finished(t)
}

func TestAStridedCopyOntoItself(t *testing.T) {
	clean(t)
	block := take(t, cuda.DeviceMemory, 8, 0)
	defer block.Free()
	copy(faketest.Look(block.Address(), 8), "abcdefgh")
	forward := cuda.Side{View: cuda.View{Data: block.Address(), Strides: []int64{1}}, ItemSize: 1,
		Block: block}
	backward := cuda.Side{View: cuda.View{Data: block.Address() + 7, Strides: []int64{-1}},
		ItemSize: 1, Block: block}
	require.NoError(t, cuda.CopyStrided(t.Context(), forward, backward, []int64{8}))
	finished(t)
	assert.Equal(t, "hgfedcba", string(faketest.Look(block.Address(), 8)))
}

func TestAStridedCopyRefusesWhatDoesNotFit(t *testing.T) {
	clean(t)
	block := take(t, cuda.DeviceMemory, 1<<10, 0)
	defer block.Free()
	gpu := cuda.Side{View: cuda.View{Data: block.Address(), Strides: []int64{24, 8}},
		Type: alloc.Float64}
	host := gpu
	host.Kind = cuda.Host
	shape := []int64{2, 3}
	for why, change := range map[string]func(*cuda.Side){
		"1 strides for 2 axes":                  func(s *cuda.Side) { s.Strides = s.Strides[:1] },
		"its address is 0, and shape [2 3] has": func(s *cuda.Side) { s.Data = 0 },
		"unknown element type 77":               func(s *cuda.Side) { s.Type = 77 },
		"memory of kind 3; give Host":           func(s *cuda.Side) { s.Kind = 3 },
		"memory of kind -2; give Host":          func(s *cuda.Side) { s.Kind = -2 },
		"elements of -8 bytes": func(s *cuda.Side) {
			s.Type,
				s.ItemSize = alloc.Raw, -8
		},
	} {
		for _, sound := range []cuda.Side{gpu, host} {
			bad := sound
			change(&bad)
			for arg, err := range map[string]error{
				"dst: ": cuda.CopyStrided(t.Context(), bad, gpu, shape),
				"src: ": cuda.CopyStrided(t.Context(), gpu, bad, shape),
			} {
				require.ErrorIs(t, err, cuda.ErrArgument)
				assert.ErrorContains(t, err, arg+why)
			}
		}
	}
	whole, time := gpu, host
	whole.Type, time.Type = alloc.Int64, alloc.Datetime
	assert.ErrorContains(t, cuda.CopyStrided(t.Context(), gpu, whole, shape),
		"src: elements of type int64 (8 bytes) do not convert")
	assert.ErrorContains(t, cuda.CopyStrided(t.Context(), gpu, time, shape),
		"src: elements of type datetime64 (8 bytes) do not")
	assert.ErrorContains(t, cuda.CopyStrided(t.Context(), host, host, shape),
		"dst and src are memory of the host")
	assert.ErrorContains(t, cuda.CopyStrided(t.Context(), gpu, host, []int64{2, -3}), "shape[1] is -3")
	assert.ErrorContains(t, cuda.CopyStrided(t.Context(), gpu, host, []int64{1 << 40, 1 << 40}),
		"more than 2^63 bytes")
	queue := on(0, 0)
	for _, err := range []error{
		queue.Copy(cuda.Upload, block.Address(), 0, 8), queue.Copy(cuda.Within, 0, block.Address(),
			8),
		queue.CopyPeer(0, block.Address(), 0, 8), queue.Set(0, 4, 1, 2),
		queue.CopyRows(cuda.Download, 0, 8, block.Address(), 8, 8, 2),
		queue.Fill(cuda.View{Strides: []int64{8}}, []int64{2}, make([]byte, 8)),
		queue.Relayout(cuda.View{Strides: []int64{8}}, gpu.View, []int64{2}, 8),
	} {
		require.ErrorIs(t, err, cuda.ErrArgument)
	}
	none := host
	none.Type, none.ItemSize, none.Kind = alloc.Raw, 0, cuda.DeviceMemory
	host.Type, host.ItemSize = alloc.Raw, 0
	assert.NoError(t, cuda.CopyStrided(t.Context(), none, host, shape), "elements of no bytes")
	assert.Zero(t, faketest.Count("cuMemcpyHtoDAsync_v2")+faketest.Count("cuLaunchKernel"))
}
