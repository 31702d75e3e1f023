package cuda_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/cuda"
	"gridbuf/cuda/internal/faketest"
	"gridbuf/transfer"
)

// side is a block of n elements, seen with these strides.
func side(t *testing.T, kind cuda.Kind, typ transfer.Type, n int64, strides ...int64) cuda.Side {
	t.Helper()
	b := take(t, kind, n*typ.Size(), 0)
	t.Cleanup(b.Release)
	return cuda.Side{View: cuda.View{Data: b.Address(), Strides: strides}, Kind: kind, Type: typ, Block: b}
}

func finished(t *testing.T) {
	t.Helper()
	event, err := on(0, 0).Record()
	require.NoError(t, err)
	defer event.Release()
	done, err := event.Wait(1e9)
	require.NoError(t, err)
	require.True(t, done)
}

func TestStridedCopiesOfAnyLayout(t *testing.T) {
	clean(t)
	shape := []int64{300, 40, 7}
	n := shape[0] * shape[1] * shape[2]
	for _, kind := range []cuda.Kind{cuda.Pinned, cuda.Host} {
		host := side(t, cuda.Pinned, transfer.Float64, n, 40*7*8, 7*8, 8)
		host.Kind = kind // pinned memory may be taken for pageable
		for i := range n {
			binary.NativeEndian.PutUint64(faketest.Host(host.Data+uintptr(8*i), 8), math.Float64bits(float64(i)))
		}
		gpu := side(t, cuda.DeviceMemory, transfer.Float64, n, 8, 300*8, 300*40*8)
		turned := side(t, cuda.DeviceMemory, transfer.Float64, n, 40*7*8, 8, 40*8)
		back := side(t, cuda.Pinned, transfer.Float32, n, 4, 300*4, 300*40*4)
		require.NoError(t, cuda.CopyStrided(gpu, host, shape))
		require.NoError(t, cuda.CopyStrided(turned, gpu, shape))
		require.NoError(t, cuda.CopyStrided(back, turned, shape), "converted on the way")
		finished(t)
		for _, at := range [][3]int64{{0, 0, 0}, {299, 39, 6}, {17, 5, 3}, {1, 39, 0}} {
			bits := binary.NativeEndian.Uint32(faketest.Host(back.Data+uintptr(4*(at[0]+300*at[1]+300*40*at[2])), 4))
			assert.InDelta(t, at[0]*40*7+at[1]*7+at[2], math.Float32frombits(bits), 0, at)
		}
	}
}

func TestAStridedCopyOntoItself(t *testing.T) {
	clean(t)
	block := take(t, cuda.DeviceMemory, 8, 0)
	defer block.Release()
	copy(faketest.Look(block.Address(), 8), "abcdefgh")
	forward := cuda.Side{View: cuda.View{Data: block.Address(), Strides: []int64{1}}, ItemSize: 1, Block: block}
	backward := cuda.Side{View: cuda.View{Data: block.Address() + 7, Strides: []int64{-1}}, ItemSize: 1, Block: block}
	require.NoError(t, cuda.CopyStrided(forward, backward, []int64{8}))
	finished(t)
	assert.Equal(t, "hgfedcba", string(faketest.Look(block.Address(), 8)))
}

func TestAStridedCopyRefusesWhatDoesNotFit(t *testing.T) {
	clean(t)
	a := cuda.Side{View: cuda.View{Strides: []int64{8}}, Type: transfer.Float64}
	require.ErrorIs(t, cuda.CopyStrided(a, a, []int64{2, 3}), cuda.ErrArgument)
}
