package transfer

import (
	"bytes"
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/internal/work"
)

func filledViews(t *testing.T, n int64) (dst, src alloc.View, dstMemory, srcMemory []byte) {
	dstMemory, srcMemory = mapped(t, int(n*n*8)), mapped(t, int(n*n*8))
	for i := range srcMemory {
		srcMemory[i] = byte(i * 7)
	}
	return dense(dstMemory, alloc.Int64, n, n), transposed(dense(srcMemory, alloc.Int64, n, n)),
		dstMemory, srcMemory
}

func TestAJobGoesOnWhereItStopped(t *testing.T) {
	defer setThreads(0)
	for threads := 1; threads <= 3; threads++ {
		setThreads(threads)
		dst, src, dstMemory, srcMemory := filledViews(t, 1000)
		job, err := PlanCopy(dst, src)
		require.NoError(t, err)
		slices, last := 0, 0.0
		for done := false; !done; slices++ {
			done, err = job.Run(0)
			require.NoError(t, err)
			require.GreaterOrEqual(t, job.Progress(), last)
			last = job.Progress()
		}
		assert.Greater(t, slices, 3, "a budget of nothing still gets some tiles done, not all")
		assert.Equal(t, 1.0, last)
		done, err := job.Run(time.Second)
		assert.True(t, done && err == nil, "a job that is done stays done")
		job.Free()
		job.Free()
		for i := range 1000 {
			require.True(t, bytes.Equal(srcMemory[i*8:i*8+8], dstMemory[i*8000:i*8000+8]))
		}
	}
}

func TestCancelStopsBetweenSlices(t *testing.T) {
	defer func(before int64) { work.Slice = before }(work.Slice)
	work.Slice = 0
	ctx, cancel := context.WithCancel(context.Background())
	dst, src, _, _ := filledViews(t, 1000)
	var seen []float64
	err := Copy(dst, src, Options{Context: ctx, Progress: func(done float64) {
		seen = append(seen, done)
		cancel()
	}})
	assert.ErrorIs(t, err, context.Canceled)
	require.Len(t, seen, 1)
	assert.Less(t, seen[0], 1.0)
}

func TestNumThreads(t *testing.T) {
	defer setThreads(0)
	setThreads(0)
	assert.GreaterOrEqual(t, NumThreads(), 1)
	t.Setenv("GRIDBUF_NUM_THREADS", "3")
	require.NoError(t, SetNumThreads(5))
	assert.Equal(t, 5, NumThreads())
	assert.ErrorContains(t, SetNumThreads(0), "n: 0 threads are not possible")
	assert.Equal(t, 5, NumThreads())
}

// 70 dimensions of which few are longer than one are too many all the same.
func TestTooManyDimensions(t *testing.T) {
	memory := mapped(t, 8)
	v := dense(memory, alloc.Int64, make([]int64, 70)...)
	assert.ErrorContains(t, Copy(v, v, Options{}), "dst: 70 dimensions")
}

func TestCopyOntoItselfAndOfNothing(t *testing.T) {
	dst, _, memory, _ := filledViews(t, 10)
	before := bytes.Clone(memory)
	require.NoError(t, Copy(dst, dst, Options{}))
	assert.Equal(t, before, memory)
	empty := alloc.View{Type: alloc.Int64, Shape: []int64{0, 3}, Strides: []int64{8, 8}}
	require.NoError(t, Copy(empty, empty, Options{}))
	require.NoError(t, Fill(empty, 3, Options{}))
}

// More elements than 63 bits count, all in one place.
func TestSizesThatOverflow(t *testing.T) {
	memory := mapped(t, 16)
	v := alloc.View{Data: base(memory), Type: alloc.Int64, Shape: []int64{1 << 31, 1 << 31, 1 << 31},
		Strides: []int64{0, 0, 0}}
	assert.ErrorContains(t, Copy(v, v, Options{}), "more elements than 64 bits can count")
}

// Where the target repeats, the last element of the source stays, as if copied one by one.
func TestATargetThatRepeats(t *testing.T) {
	memory := mapped(t, 8*6)
	src := dense(memory[8:], alloc.Int64, 5)
	require.NoError(t, Copy(src, dense(memory[8:], alloc.Int64, 5), Options{}))
	for i := range 5 {
		memory[8+8*i] = byte(i + 1)
	}
	dst := alloc.View{Data: base(memory), Type: alloc.Int64, Shape: []int64{5}, Strides: []int64{0}}
	require.NoError(t, Copy(dst, src, Options{}))
	assert.Equal(t, byte(5), memory[0])
}

// Go's memory is pinned while C works on it: GOEXPERIMENT=cgocheck2 ends the process otherwise.
func TestMemoryOfGo(t *testing.T) {
	src, dst := []float64{1, 2, 3, 4, 5, 6}, make([]float32, 6)
	view := func(data unsafe.Pointer, kind alloc.Type, size int64) alloc.View {
		return alloc.View{
			Data: data, Type: kind, ItemSize: size, Shape: []int64{6}, Strides: []int64{size},
		}
	}
	from := view(unsafe.Pointer(&src[0]), alloc.Float64, 8)
	to := view(unsafe.Pointer(&dst[0]), alloc.Float32, 4)
	require.NoError(t, Copy(to, from, Options{}))
	assert.Equal(t, []float32{1, 2, 3, 4, 5, 6}, dst)
	require.NoError(t, Fill(from, 7, Options{}))
	assert.Equal(t, []float64{7, 7, 7, 7, 7, 7}, src)
	reversed := from
	reversed.Data, reversed.Strides = unsafe.Pointer(&src[5]), []int64{-8}
	src[0] = 1
	require.NoError(t, Copy(to, reversed, Options{}))
	assert.Equal(t, []float32{7, 7, 7, 7, 7, 1}, dst)
}
