package bridge

import (
	"encoding/binary"
	"gridbuf/alloc"
	"testing"

	"github.com/stretchr/testify/require"

	"gridbuf/gufunc"
	"gridbuf/gufunc/kernels"
)

// integers reads 64-bit numbers as the extension sends them; small numbers take one byte, so that
// most of what is drawn is near a request.
func integers(text []byte) []int64 {
	var numbers []int64
	for len(text) > 0 {
		n, size := binary.Varint(text)
		if size <= 0 {
			break
		}
		numbers, text = append(numbers, n), text[size:]
	}
	return numbers
}

func varints(numbers ...int64) []byte {
	var text []byte
	for _, n := range numbers {
		text = binary.AppendVarint(text, n)
	}
	return text
}

const doubles = int64(alloc.Float64)

// operand is the head of one with dimensions; its shape and strides follow (gufunc.h).
func operand(ndim int64) int64 { return doubles | ndim<<16 }

// Requests of calls, reductions and fused programs are worked out or refused, whatever the numbers
// are. Nothing runs.
func FuzzRequests(f *testing.F) {
	var gufuncs []*gufunc.GUFunc
	for _, name := range []string{"add", "solve", "moments"} {
		g, err := kernels.New(name)
		require.NoError(f, err)
		gufuncs = append(gufuncs, g)
	}
	f.Add(uint8(0), varints(0, 3, operand(1), 4, 8, operand(1), 4, 8, operand(1), 4, 8))
	f.Add(uint8(1), varints(0, 3, operand(2), 3, 3, 24, 8, operand(1), 3, 8, operand(1), 3, 8))
	f.Add(uint8(0), varints(0, 1<<8, 0, 0, operand(2), 3, 4, 32, 8, operand(1), 4, 8))
	f.Add(uint8(0), varints(2, doubles, doubles, 0, 1, 0, 1, 0, 2, 0, 1, 1, doubles, 1, 2))
	f.Add(uint8(0), varints(-1, -1, -1, 1<<62))
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		numbers := integers(text)
		g := gufuncs[int(which)%len(gufuncs)]
		if r, err := readRequest(numbers); err == nil {
			if call, err := g.Resolve(r); err == nil {
				call.Free()
			}
		}
		if r, err := readReduceRequest(numbers); err == nil {
			if reduction, err := g.PlanReduction(r); err == nil {
				reduction.Free()
			}
		}
		if fused, err := readFused(numbers); err == nil {
			fused.Free()
		}
	})
}
