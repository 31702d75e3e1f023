package gufunc_test

import (
	"fmt"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/gufunc"
)

// Calls of more shapes than are kept, from several goroutines: each gets the results of its own.
func TestCallsOfManyShapesAtATime(t *testing.T) {
	g, x := kernel(t, "sqrt"), float64s(t, []int64{40})
	for i := range items(x) {
		items(x)[i] = float64(i * i)
	}
	var all sync.WaitGroup
	for worker := range 6 {
		all.Go(func() {
			for i := range 300 {
				n := int64(1 + (i*(worker+1)+worker)%7)
				step := int64(1 + i%2)
				in := view(x, 0, []int64{n}, []int64{8 * step})
				r, err := g.Call([]gufunc.Array{in}, nil, gufunc.Options{})
				if !assert.NoError(t, err) {
					return
				}
				assert.Equal(t, []int64{n}, r.Outputs[0].Shape)
				assert.Equal(t, float64((n-1)*step), items(r.Outputs[0])[n-1])
				r.Free()
			}
		})
	}
	all.Wait()
}

// A call is only taken for the same operands: each change here gives another result.
func TestARecentCallServesTheSameOperandsAlone(t *testing.T) {
	g, x := kernel(t, "sqrt"), float64s(t, []int64{2, 3}, 0, 1, 4, -9, 16, 25)
	flags := g.Flags
	single := three(t, alloc.Float32)
	copy(unsafe.Slice((*float32)(single.Data), 3), []float32{4, 9, 16})
	mask := three(t, alloc.Bool)
	copy(unsafe.Slice((*bool)(mask.Data), 3), []bool{true, false, true})
	named := view(x, 0, []int64{2, 3}, []int64{24, 8})
	named.Dims = []alloc.Dim{alloc.K, alloc.I}
	shape := []int64{3}
	call := func(in gufunc.Array, where *gufunc.Array, out ...gufunc.Array) string {
		r, err := g.Call(append([]gufunc.Array{in}, out...), where, gufunc.Options{})
		require.NoError(t, err)
		defer r.Free()
		o := r.Outputs[0]
		return fmt.Sprint(o.Type, o.Shape, r.Elements, r.Failed, len(o.Dims))
	}
	for range 2 { // the second time from recent calls
		shape[0] = 3
		row := view(x, 0, shape, []int64{8})
		assert.Equal(t, "float64 [3] 3 0 0", call(row, nil))
		assert.Equal(t, "float64 [3] 2 0 0", call(row, &mask, view(x, 3, []int64{3}, []int64{8})))
		shape[0] = 2 // the caller's list, which is not kept
		assert.Equal(t, "float64 [2] 2 0 0", call(row, nil))
		assert.Equal(t, "float32 [3] 3 0 0", call(single, nil))
		items(x)[3] = -9
		assert.Equal(t, "float64 [2 3] 6 1 0", call(view(x, 0, []int64{2, 3}, []int64{24, 8}), nil))
		g.Flags = 0
		assert.Equal(t, "float64 [2 3] 6 0 0", call(view(x, 0, []int64{2, 3}, []int64{24, 8}), nil))
		g.Flags = flags
		assert.Equal(t, "float64 [2 3] 6 1 0", call(named, nil))
	}
}

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
