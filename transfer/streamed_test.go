package transfer

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
)

// relaid is a view of new memory whose axes lie in it in the given order, slowest first. Some axes
// are followed by a gap, the first element lies anywhere in a cache line, and the last one often
// ends where a page begins that must not be touched.
func relaid(r *rand.Rand, t *testing.T, kind alloc.Type, size int64, shape []int64, order []int,
	gap int64,
) (alloc.View, []byte) {
	v := alloc.View{Type: kind, ItemSize: size, Shape: shape, Strides: make([]int64, len(shape))}
	step := size
	for i := len(order) - 1; i >= 0; i-- {
		v.Strides[order[i]] = step
		step *= shape[order[i]]
		if i > 0 && r.IntN(4) == 0 {
			step += gap
		}
	}
	before := []int64{0, 0, size * r.Int64N(64), r.Int64N(64)}[r.IntN(4)]
	after := []int64{0, r.Int64N(64)}[r.IntN(2)]
	memory := mapped(t, int(before+step+after))
	v.Data = base(memory[before:])
	return v, memory
}

// length is that of an axis, around those at which tiles are cut: lines, runs, one and a half runs.
func length(r *rand.Rand, most int64) int64 {
	n := []int64{1, 2, 3, 5, 8, 16, 32, 64, 96, 128, 256, 384, 512}[r.IntN(13)]
	return min(max(n+r.Int64N(5)-2, 1), most)
}

// Tiles of a streamed relayout end at cache lines, beyond the end of a row where another row
// follows; every byte of the target is compared.
func TestStreamedTilesCoverEveryElement(t *testing.T) {
	defer setThreads(0)
	defer assumeCache(0)
	assumeCache(1)
	eachKernel(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(9, 10))
		for range rounds() / 4 {
			setThreads(1 + r.IntN(3))
			shape, elements := []int64{}, int64(1)
			for range 2 + r.IntN(3) {
				n := length(r, max(40000/elements, 1))
				shape = append(shape, n)
				elements *= n
			}
			to, from, toSize, fromSize := randomTypes(r)
			gap := []int64{toSize, 8, 64, 13}[r.IntN(4)]
			dst, dstMemory := relaid(r, t, to, toSize, shape, r.Perm(len(shape)), gap)
			src, srcMemory := relaid(r, t, from, fromSize, shape, r.Perm(len(shape)), gap)
			scribble(r, dst, dstMemory)
			scribble(r, src, srcMemory)
			check(t, dst, src, dstMemory, srcMemory)
		}
	})
}

// Any share of the tiles writes its own elements and no others: shares run one after the other, in
// any order, are the whole.
func TestTilesInAnyOrder(t *testing.T) {
	defer assumeCache(0)
	assumeCache(1)
	r := rand.New(rand.NewPCG(11, 12))
	for range 30 {
		shape := []int64{70 + r.Int64N(300), 1 + r.Int64N(6), 20 + r.Int64N(60)}
		dst, dstMemory := relaid(r, t, alloc.Float64, 8, shape, []int{2, 1, 0}, 8)
		src, srcMemory := relaid(r, t, alloc.Float64, 8, shape, []int{0, 1, 2}, 8)
		scribble(r, src, srcMemory)
		job, err := PlanCopy(dst, src)
		require.NoError(t, err)
		shares := [][2]int64{}
		for first := int64(0); first < job.tiles(); {
			end := min(first+1+r.Int64N(4), job.tiles())
			shares = append(shares, [2]int64{first, end})
			first = end
		}
		for _, i := range r.Perm(len(shares)) {
			job.runTiles(shares[i][0], shares[i][1])
		}
		job.Free()
		each(shape, func(index []int64) {
			from, to := place(src, srcMemory, index), place(dst, dstMemory, index)
			if !bytes.Equal(srcMemory[from:from+8], dstMemory[to:to+8]) {
				t.Fatalf("%v of %v", index, describe(dst, src))
			}
		})
	}
}
