package transfer

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
)

// cut makes a random view of a random piece of memory: any order of axes, gaps,
// steps, directions. Elements come out where no two of them overlap.
func cut(r *rand.Rand, t *testing.T, kind alloc.Type, itemSize int64, shape []int64) (alloc.View,
	[]byte) {
	v := alloc.View{Type: kind, ItemSize: itemSize, Shape: shape, Strides: make([]int64, len(shape))}
	step, first := itemSize, int64(0)
	for _, i := range r.Perm(len(shape)) {
		gap := int64(1)
		if r.IntN(4) == 0 {
			gap += r.Int64N(3)
		}
		v.Strides[i] = step * gap
		if r.IntN(5) == 0 && shape[i] > 0 {
			first += (shape[i] - 1) * v.Strides[i]
			v.Strides[i] = -v.Strides[i]
		}
		step = step*gap*max(shape[i], 1) + itemSize*[]int64{0, 0, 0, 1, 5}[r.IntN(5)]
	}
	before := []int64{0, 0, itemSize, 3}[r.IntN(4)]
	memory := mapped(t, int(step+before))
	v.Data = base(memory[first+before:])
	return v, memory
}

func scribble(r *rand.Rand, v alloc.View, memory []byte) {
	for i := range memory {
		memory[i] = byte(r.Uint32())
	}
	if v.Type != alloc.Raw {
		each(v.Shape, func(index []int64) {
			copy(memory[place(v, memory, index):], encode(v.Type, float64(r.IntN(500))/4,
				float64(r.IntN(100))))
		})
	}
}

func randomShape(r *rand.Rand) []int64 {
	n := r.IntN(7)
	longest := []int{1, 3000, 150, 40, 14, 8, 6}[n]
	shape := make([]int64, n)
	for i := range shape {
		shape[i] = int64(1 + r.IntN(longest))
		if r.IntN(40) == 0 {
			shape[i] = 0
		}
	}
	return shape
}

func randomTypes(r *rand.Rand) (to, from alloc.Type, toSize, fromSize int64) {
	from = append(numbers, alloc.Raw)[r.IntN(len(numbers)+1)]
	to = numbers[r.IntN(len(numbers))]
	if from == alloc.Raw || r.IntN(2) == 0 {
		to = from
	}
	if from == alloc.Raw {
		size := []int64{0, 1, 2, 3, 5, 8, 10, 16, 24, 40, 100}[r.IntN(11)]
		return to, from, size, size
	}
	return to, from, to.Size(), from.Size()
}

func describe(dst, src alloc.View) string {
	return fmt.Sprintf("%v (%d) strides %v <- %v (%d) strides %v, shape %v", dst.Type, dst.ItemSize,
		dst.Strides, src.Type, src.ItemSize, src.Strides, dst.Shape)
}

// check copies and compares every byte of the target's memory with the oracle's.
func check(t *testing.T, dst, src alloc.View, dstMemory, srcMemory []byte) {
	want, values := bytes.Clone(dstMemory), bytes.Clone(srcMemory)
	each(dst.Shape, func(index []int64) {
		from := place(src, srcMemory, index)
		copy(want[place(dst, dstMemory, index):], convert(dst.Type, src.Type,
			values[from:from+src.ItemSize]))
	})
	require.NoError(t, Copy(dst, src, Options{}))
	require.True(t, bytes.Equal(want, dstMemory), describe(dst, src))
}

func rounds() int {
	if testing.Short() {
		return 200
	}
	return 500
}

func TestCopyIsElementByElement(t *testing.T) {
	defer setThreads(0)
	defer assumeCache(0)
	eachKernel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for range rounds() {
			setThreads(1 + r.IntN(4))
			assumeCache(r.Int64N(2)) // 1: everything streams that can
			shape := randomShape(r)
			to, from, toSize, fromSize := randomTypes(r)
			dst, dstMemory := cut(r, t, to, toSize, shape)
			src, srcMemory := cut(r, t, from, fromSize, shape)
			scribble(r, dst, dstMemory)
			scribble(r, src, srcMemory)
			for i := range shape {
				if r.IntN(8) == 0 {
					src.Strides[i] = 0
				}
			}
			check(t, dst, src, dstMemory, srcMemory)
		}
	})
}

// Two views of one piece of memory, from equal to unrelated.
func TestOverlapIsAsIfCopiedFirst(t *testing.T) {
	defer setThreads(0)
	r := rand.New(rand.NewPCG(3, 4))
	for range 2 * rounds() {
		setThreads(1 + r.IntN(3))
		shape := randomShape(r)
		kind := numbers[r.IntN(len(numbers))]
		dst, memory := cut(r, t, kind, kind.Size(), shape)
		scribble(r, dst, memory)
		src := dst
		src.Strides = slices.Clone(dst.Strides)
		switch r.IntN(4) {
		case 0: // shifted along an axis
			if len(shape) == 0 {
				break
			}
			i := r.IntN(len(shape))
			by := min(int64(r.IntN(3)), shape[i])
			shorter := slices.Clone(shape)
			shorter[i] -= by
			dst.Shape, src.Shape = shorter, shorter
			if by < shape[i] {
				src.Data = unsafe.Add(src.Data, by*src.Strides[i])
			}
			if r.IntN(2) == 0 {
				dst, src = src, dst
			}
		case 1: // even elements from odd ones
			if len(shape) == 0 || slices.Contains(shape, 0) {
				break
			}
			i := r.IntN(len(shape))
			half := slices.Clone(shape)
			half[i] /= 2
			if half[i] > 0 {
				dst.Data = unsafe.Add(dst.Data, dst.Strides[i])
			}
			dst.Strides[i] *= 2
			src.Strides[i] *= 2
			dst.Shape, src.Shape = half, half
		case 2: // turned round
			for i := range shape {
				if r.IntN(2) == 0 && shape[i] > 0 {
					src.Data = unsafe.Add(src.Data, (shape[i]-1)*src.Strides[i])
					src.Strides[i] = -src.Strides[i]
				}
			}
		case 3: // transposed, where that keeps the shape
			for i := range shape {
				for j := range i {
					if shape[i] == shape[j] {
						src.Strides[i], src.Strides[j] = src.Strides[j], src.Strides[i]
					}
				}
			}
		}
		check(t, dst, src, memory, memory)
	}
}

// Large enough that several threads and, past the cache's size, streamed stores take part.
func TestLargeCopies(t *testing.T) {
	defer setThreads(0)
	setThreads(3)
	shapes := [][]int64{{70, 256, 300}, {257, 255, 129}, {1 << 22}, {3, 1500000}, {1500000, 3},
		{64, 70, 40, 33}}
	pairs := [][2]alloc.Type{{alloc.Float64, alloc.Float64}, {alloc.Float32, alloc.Float64},
		{alloc.Float64, alloc.Float32}, {alloc.Int16, alloc.Int16},
		{alloc.Complex128, alloc.Complex128}, {alloc.Uint8, alloc.Uint8}}
	if testing.Short() {
		pairs = pairs[:2]
	}
	eachKernel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for i, shape := range shapes {
			pair := pairs[i%len(pairs)]
			elements := int64(1)
			for _, n := range shape {
				elements *= n
			}
			srcMemory, dstMemory := mapped(t, int(elements*pair[1].Size())),
				mapped(t, int(elements*pair[0].Size())+8)
			src := dense(srcMemory, pair[1], shape...)
			reversed := slices.Clone(shape)
			slices.Reverse(reversed)
			dst := transposed(dense(dstMemory[:len(dstMemory)-8], pair[0], reversed...))
			if i%2 == 1 { // rows that start off a cache line
				dst.Data = base(dstMemory[8:])
			}
			numbers := make([][]byte, 113)
			for j := range numbers {
				numbers[j] = encode(pair[1], float64(j), 1)
			}
			for j := range elements {
				copy(srcMemory[j*src.ItemSize:], numbers[j%113])
			}
			require.NoError(t, Copy(dst, src, Options{}))
			for range 20000 {
				index := make([]int64, len(shape))
				for j := range index {
					index[j] = r.Int64N(shape[j])
				}
				from, to := srcMemory[place(src, srcMemory, index):],
					dstMemory[place(dst, dstMemory, index):]
				require.Equal(t, convert(pair[0], pair[1], from[:src.ItemSize]), to[:dst.ItemSize],
					describe(dst, src))
			}
			again := mapped(t, len(srcMemory))
			require.NoError(t, Copy(dense(again, pair[1], shape...), dst, Options{}))
			require.True(t, bytes.Equal(srcMemory, again), "there and back: %s", describe(dst, src))
		}
	})
}

func TestFillSetsEveryElementAndNoOther(t *testing.T) {
	defer setThreads(0)
	defer assumeCache(0)
	eachKernel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for range rounds() {
			setThreads(1 + r.IntN(3))
			assumeCache(r.Int64N(2))
			to, _, size, _ := randomTypes(r)
			if to == alloc.Raw {
				size = []int64{1, 3, 8, 16, 24, 32, 64, 100}[r.IntN(8)]
			}
			dst, memory := cut(r, t, to, size, randomShape(r))
			scribble(r, dst, memory)
			var value any = float64(r.IntN(500)) / 4
			var element []byte
			switch {
			case to == alloc.Raw || r.IntN(3) == 0:
				element = make([]byte, size)
				for i := range element {
					element[i] = byte(r.Uint32())
				}
				value = element
			case r.IntN(2) == 0:
				value = complex(value.(float64), 3)
				element = convert(to, alloc.Complex128, encode(alloc.Complex128,
					real(value.(complex128)), 3))
			default:
				element = encode(to, value.(float64), 0)
			}
			want := bytes.Clone(memory)
			each(dst.Shape, func(index []int64) { copy(want[place(dst, memory, index):], element) })
			require.NoError(t, Fill(dst, value, Options{}))
			require.True(t, bytes.Equal(want, memory), "%v: %v", value, describe(dst, dst))
		}
	})
}
