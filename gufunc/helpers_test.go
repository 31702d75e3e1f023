package gufunc_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/gufunc"
	"gridbuf/gufunc/kernels"
)

// float64s is a C-ordered array of the shape over memory from the heap.
func float64s(t testing.TB, shape []int64, values ...float64) gufunc.Array {
	t.Helper()
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: shape, ItemSize: 8})
	require.NoError(t, err)
	b, err := alloc.New(plan)
	require.NoError(t, err)
	t.Cleanup(b.Free)
	a, err := gufunc.ArrayOf(b, alloc.Float64)
	require.NoError(t, err)
	clear(items(a)[copy(items(a), values):])
	return a
}

// items are the values of a packed float64 array in memory order.
func items(a gufunc.Array) []float64 {
	n := int64(1)
	for _, s := range a.Shape {
		n *= s
	}
	return unsafe.Slice((*float64)(a.Data), n)
}

// view is part of an array: another shape, other strides, first element at first.
func view(a gufunc.Array, first int64, shape, strides []int64) gufunc.Array {
	a.Shape, a.Strides = shape, strides
	a.Data = unsafe.Add(a.Data, first*a.Type.Size())
	return a
}

func kernel(t testing.TB, name string) *gufunc.GUFunc {
	t.Helper()
	g, err := kernels.New(name)
	require.NoError(t, err)
	return g
}
