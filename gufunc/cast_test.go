package gufunc_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/gufunc"
)

func three(t *testing.T, kind gufunc.Type) gufunc.Array {
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{3}, ItemSize: kind.Size()})
	require.NoError(t, err)
	b, err := alloc.New(plan)
	require.NoError(t, err)
	t.Cleanup(b.Free)
	a, err := gufunc.ArrayOf(b, kind)
	require.NoError(t, err)
	return a
}

// Bools become each type for a kernel that copies, and what it gives becomes complex: all the numbers that there are.
func TestEveryNumberConverts(t *testing.T) {
	truths, results := three(t, gufunc.Bool), three(t, gufunc.Complex128)
	copy(unsafe.Slice((*bool)(truths.Data), 3), []bool{true, false, true})
	for kind := gufunc.Bool; kind < gufunc.Datetime; kind++ {
		size := int(kind.Size())
		g, err := gufunc.New("copy", "()->()", []gufunc.Kernel{{Form: gufunc.GoLoop, Types: []gufunc.Type{kind, kind}, Go: func(b gufunc.Block) int {
			for i := range b.N {
				copy(unsafe.Slice((*byte)(b.At(1, i)), size), unsafe.Slice((*byte)(b.At(0, i)), size))
			}
			return 0
		}}}, 0)
		require.NoError(t, err, kind)
		_, err = g.Call([]gufunc.Array{truths, results}, nil, gufunc.Options{})
		require.NoError(t, err, kind)
		assert.Equal(t, []complex128{1, 0, 1}, unsafe.Slice((*complex128)(results.Data), 3), kind)
	}
}
