package gufunc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"gridbuf/gufunc"
)

// A call of 3 elements: nearly all of the time is the call's own.
func BenchmarkCall(b *testing.B) {
	g, x := kernel(b, "sqrt"), float64s(b, []int64{3}, 1, 4, 9)
	b.ReportAllocs()
	for b.Loop() {
		r, err := g.Call([]gufunc.Array{x}, nil, gufunc.Options{})
		require.NoError(b, err)
		r.Free()
	}
}

// More shapes in turns than a GUFunc keeps resolved calls for.
func BenchmarkCallOfAnotherShape(b *testing.B) {
	g, x := kernel(b, "sqrt"), float64s(b, []int64{3}, 1, 4, 9)
	shapes := [][]int64{{3}, {2}, {1}, {3, 1}, {2, 1}, {1, 1}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		shape := shapes[i%len(shapes)]
		of := view(x, 0, shape, []int64{8, 8}[:len(shape)])
		r, err := g.Call([]gufunc.Array{of}, nil, gufunc.Options{})
		require.NoError(b, err)
		r.Free()
	}
}
