package cuda_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/cuda"
	"gridbuf/cuda/internal/faketest"
)

// each calls f with every index of shape.
func each(shape []int64, f func(index []int64)) {
	index := make([]int64, len(shape))
	for {
		f(index)
		axis := len(shape) - 1
		for ; axis >= 0; axis-- {
			if index[axis]++; index[axis] < shape[axis] {
				break
			}
			index[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}

func at(v cuda.View, index []int64) int64 {
	where := int64(v.Data)
	for i, n := range index {
		where += n * v.Strides[i]
	}
	return where
}

// layout puts shape into memory with its axes in a random order, some with gaps, some
// backwards; the bytes it needs, and where element 0 is.
func layout(r *rand.Rand, shape []int64, itemsize int64, gaps int64) (strides []int64, need,
	first int64) {
	strides = make([]int64, len(shape))
	need = itemsize
	step := itemsize
	for _, axis := range r.Perm(len(shape)) {
		step += gaps * r.Int64N(2) * itemsize
		strides[axis] = step
		if r.IntN(3) == 0 {
			strides[axis] = -step
			first += (shape[axis] - 1) * step
		}
		need += (shape[axis] - 1) * step
		step *= shape[axis]
	}
	return strides, need, first
}

func TestRelayoutOfAnyStrides(t *testing.T) {
	clean(t)
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		shape := make([]int64, r.IntN(6))
		for i := range shape {
			// never too many elements
			shape[i] = []int64{1, 2, 3, 17, 33, 40}[r.IntN(6-len(shape)/2)]
		}
		itemsize := int64([]int{1, 2, 4, 8, 16, 3}[r.IntN(6)])
		shift := int64(r.IntN(2)) * r.Int64N(16) // misaligned now and then
		dstStrides, dstNeed, dstFirst := layout(r, shape, itemsize, int64(r.IntN(2)))
		srcStrides, srcNeed, srcFirst := layout(r, shape, itemsize, int64(r.IntN(2)))
		if len(shape) > 0 && r.IntN(5) == 0 {
			srcStrides[0] = 0 // broadcast
		}
		dst, src := take(t, cuda.DeviceMemory, dstNeed+16, 0), take(t, cuda.DeviceMemory,
			srcNeed+16, 0)
		to := cuda.View{dst.Address() + uintptr(shift+dstFirst), dstStrides}
		from := cuda.View{src.Address() + uintptr(srcFirst), srcStrides}
		for i := range faketest.Look(src.Address(), int(srcNeed)) {
			faketest.Look(src.Address(), int(srcNeed))[i] = byte(r.Uint32())
		}
		expected := bytes.Clone(faketest.Look(dst.Address(), int(dstNeed+16)))
		each(shape, func(index []int64) {
			copy(expected[at(to, index)-int64(dst.Address()):][:itemsize],
				faketest.Look(uintptr(at(from, index)), int(itemsize)))
		})
		require.NoError(t, on(0, 0).Relayout(to, from, shape, int(itemsize)))
		require.True(t, bytes.Equal(expected, faketest.Look(dst.Address(), int(dstNeed+16))),
			"round %d: shape %v, items of %d, %v <- %v, shift %d", round, shape, itemsize,
			dstStrides, srcStrides, shift)
		dst.Free()
		src.Free()
	}
	assert.Positive(t, faketest.Launched("gb_transpose_8"), "tiles were used")
	assert.Positive(t, faketest.Launched("gb_copy_1"))
	assert.Positive(t, faketest.Count("cuMemcpyDtoDAsync_v2"), "and plain copies")
}

func TestTransposeGoesThroughTiles(t *testing.T) {
	clean(t)
	for _, itemsize := range []int64{1, 2, 4, 8, 16} {
		const n, m = 70, 45
		a, b := take(t, cuda.DeviceMemory, n*m*itemsize, 0), take(t, cuda.DeviceMemory,
			n*m*itemsize, 0)
		kernel := fmt.Sprintf("gb_transpose_%d", itemsize)
		before := faketest.Launched(kernel)
		c, f := []int64{m * itemsize, itemsize}, []int64{itemsize, n * itemsize}
		require.NoError(t, on(0, 0).Relayout(cuda.View{b.Address(), f}, cuda.View{a.Address(), c},
			[]int64{n, m}, int(itemsize)))
		assert.EqualValues(t, 1, faketest.Launched(kernel)-before)
		a.Free()
		b.Free()
	}
}

// Contiguous rows move in words of 16 bytes, whatever the element is.
func TestRowsMoveInWideWords(t *testing.T) {
	clean(t)
	a, b := take(t, cuda.DeviceMemory, 4096, 0), take(t, cuda.DeviceMemory, 4096, 0)
	before := faketest.Launched("gb_copy_16")
	require.NoError(t, on(0, 0).Relayout(cuda.View{b.Address(), []int64{128, 2}},
		cuda.View{a.Address(), []int64{64, 2}}, []int64{20, 16}, 2))
	assert.EqualValues(t, 1, faketest.Launched("gb_copy_16")-before)
	a.Free()
	b.Free()
}

// Words are no wider than what every stride and address of both sides allows.
func TestWordsFitBothSides(t *testing.T) {
	clean(t)
	a, b := take(t, cuda.DeviceMemory, 4096, 0), take(t, cuda.DeviceMemory, 4096, 0)
	for i := range 4096 {
		faketest.Look(a.Address(), 4096)[i] = byte(i * 7 / 3)
	}
	for _, far := range []int64{66, 68, 72, 80} {
		for _, shift := range []uintptr{0, 2, 4, 8} {
			for _, swap := range []bool{false, true} {
				from, to := cuda.View{a.Address() + shift, []int64{far, 2}}, cuda.View{b.Address(),
					[]int64{64, 2}}
				if swap {
					from.Strides, to.Strides = to.Strides, from.Strides
				}
				require.NoError(t, on(0, 0).Relayout(to, from, []int64{20, 32}, 2))
				for _, row := range []int64{0, 7, 19} {
					assert.Equal(t, faketest.Look(uintptr(at(from, []int64{row, 0})), 64),
						faketest.Look(uintptr(at(to, []int64{row, 0})), 64))
				}
			}
		}
	}
	a.Free()
	b.Free()
}

func TestFillOfAnyStrides(t *testing.T) {
	clean(t)
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 200 {
		shape := make([]int64, r.IntN(5))
		for i := range shape {
			shape[i] = 1 + r.Int64N(9)
		}
		itemsize := int64(1) << r.IntN(5)
		shift := int64(r.IntN(2)) * r.Int64N(16)
		strides, need, first := layout(r, shape, itemsize, int64(r.IntN(2)))
		value := make([]byte, itemsize)
		for i := range value {
			value[i] = byte(1 + i*r.IntN(2))
		}
		b := take(t, cuda.DeviceMemory, need+16, 0)
		v := cuda.View{b.Address() + uintptr(shift+first), strides}
		expected := bytes.Clone(faketest.Look(b.Address(), int(need+16)))
		each(shape, func(index []int64) { copy(expected[at(v, index)-int64(b.Address()):], value) })
		require.NoError(t, on(0, 0).Fill(v, shape, value))
		require.True(t, bytes.Equal(expected, faketest.Look(b.Address(), int(need+16))),
			"round %d: %v %d %v", round, shape, itemsize, strides)
		b.Free()
	}
	assert.Positive(t, faketest.Count("cuMemsetD32Async"),
		"what is contiguous and repeats needs no kernel")
}

func TestRelayoutRefuses(t *testing.T) {
	clean(t)
	b := take(t, cuda.DeviceMemory, 4096, 0)
	defer b.Free()
	v := cuda.View{b.Address(), []int64{8}}
	assert.ErrorIs(t, on(0, 0).Relayout(cuda.View{b.Address(), []int64{0}}, v, []int64{3}, 8),
		cuda.ErrArgument, "elements on top of each other")
	assert.ErrorIs(t, on(0, 0).Relayout(v, v, []int64{-3}, 8), cuda.ErrArgument)
	assert.ErrorIs(t, on(0, 0).Relayout(v, v, []int64{3, 3}, 8), cuda.ErrArgument)
	assert.ErrorIs(t, on(0, 0).Relayout(v, v, []int64{3}, 0), cuda.ErrArgument)
	assert.ErrorIs(t, on(0, 0).Fill(v, []int64{3}, make([]byte, 3)), cuda.ErrArgument)
	assert.ErrorIs(t, on(0, 0).Set(b.Address()+1, 4, 0, 3), cuda.ErrArgument)
	assert.ErrorIs(t, on(0, 0).Set(b.Address(), 8, 0, 3), cuda.ErrArgument)
	assert.ErrorIs(t, on(0, 0).CopyRows(cuda.Within, b.Address(), 4, b.Address(), 8, 8, 2),
		cuda.ErrArgument)
	assert.ErrorIs(t, on(0, 0).Copy(9, b.Address(), b.Address(), 8), cuda.ErrArgument)
	assert.ErrorIs(t, on(0, 0).Copy(0, b.Address(), b.Address(), -8), cuda.ErrArgument)
}

func TestCopyRows(t *testing.T) {
	clean(t)
	host, device := take(t, cuda.Pinned, 4096, 0), take(t, cuda.DeviceMemory, 4096, 0)
	for i := range faketest.Host(host.Address(), 4096) {
		faketest.Host(host.Address(), 4096)[i] = byte(i / 10)
	}
	require.NoError(t, on(0, 0).CopyRows(cuda.Upload, device.Address(), 64, host.Address(), 100, 50,
		7))
	for row := range 7 {
		assert.Equal(t, faketest.Host(host.Address(), 4096)[row*100:][:50],
			faketest.Look(device.Address(), 4096)[row*64:][:50])
	}
	// further apart than the driver's own copies of rows reach
	far := take(t, cuda.DeviceMemory, 3<<30+100, 0)
	require.NoError(t, on(0, 0).CopyRows(cuda.Upload, far.Address(), 3<<30, host.Address(), 100, 50,
		2))
	assert.Equal(t, faketest.Host(host.Address(), 150)[100:],
		faketest.Look(far.Address()+3<<30, 50))
	require.NoError(t, on(0, 0).CopyRows(cuda.Within, device.Address(), 50, far.Address(), 3<<30,
		50, 2))
	assert.Equal(t, faketest.Host(host.Address(), 150)[100:],
		faketest.Look(device.Address()+50, 50))
	far.Free()
	require.NoError(t, on(0, 0).CopyRows(cuda.Upload, device.Address(), 64, host.Address(), 100, 50,
		7))
	require.NoError(t, on(0, 0).CopyRows(cuda.Download, host.Address(), 50, device.Address(), 64,
		50, 7))
	assert.Equal(t, faketest.Look(device.Address(), 4096)[6*64:][:50],
		faketest.Host(host.Address(), 4096)[300:350])
	host.Free()
	device.Free()
}

// kernels.py was run after the last change of kernels.h, and what the driver gets is its result.
func TestKernelsAreUpToDate(t *testing.T) {
	clean(t)
	b := take(t, cuda.DeviceMemory, 4096, 0)
	defer b.Free()
	require.NoError(t, on(0, 0).Fill(cuda.View{b.Address(), []int64{64}}, []int64{8}, []byte("x")))
	text, err := os.ReadFile("kernels.ptx")
	require.NoError(t, err)
	assert.True(t, string(text) == faketest.Module())
	source, err := os.ReadFile("kernels.h")
	require.NoError(t, err)
	assert.Contains(t, string(text[len(text)-100:]), fmt.Sprintf("of kernels.h %x",
		sha256.Sum256(source)))
}
