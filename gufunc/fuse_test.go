package gufunc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/gufunc"
	"gridbuf/gufunc/kernels"
)

// loopOf is the first kernel of a shipped gufunc as a step.
func loopOf(name string, in ...int) gufunc.Step {
	g, _ := kernels.New(name)
	for i := range g.Kernels() {
		if k, _ := g.Kernel(i); k.Types[0] == gufunc.Float64 && k.Form == gufunc.NumPyLoop {
			return gufunc.Step{Kind: gufunc.LoopStep, Function: k.Function, Data: k.Data, In: in, Out: k.Types[len(in):]}
		}
	}
	panic(name)
}

// floats is an array over memory of the heap, which the test leaves there.
func floats(values ...float64) gufunc.Array {
	plan, _ := alloc.NewPlan(&alloc.Spec{Shape: []int64{int64(len(values))}, ItemSize: 8})
	buffer, _ := alloc.New(plan)
	a, _ := gufunc.ArrayOf(buffer, alloc.Float64)
	copy(items(a), values)
	return a
}

// sqrt(x) / y + x, without the memory of a temporary.
func ExampleFuse() {
	fused, _ := gufunc.Fuse([]gufunc.Type{gufunc.Float64, gufunc.Float64}, nil, []gufunc.Step{
		loopOf("sqrt", 0), loopOf("divide", 2, 1), loopOf("add", 3, 0),
	}, []int{4})
	defer fused.Free()
	g, _ := gufunc.New("step", "(),()->()", []gufunc.Kernel{fused.Kernel()}, gufunc.AllFlags)
	r, _ := g.Call([]gufunc.Array{floats(4, 9, 16), floats(1, 2, 4)}, nil, gufunc.Options{})
	defer r.Free()
	fmt.Println(items(r.Outputs[0]))
	// Output: [6 10.5 17]
}

func TestFusedOutputsAndCasts(t *testing.T) {
	n := 100_003
	x := float64s(t, []int64{int64(n)})
	for i := range items(x) {
		items(x)[i] = float64(i)
	}
	fused, err := gufunc.Fuse([]gufunc.Type{gufunc.Float64}, nil, []gufunc.Step{
		loopOf("sqrt", 0),
		{Kind: gufunc.CastStep, In: []int{1}, Out: []gufunc.Type{gufunc.Int64}},
		{Kind: gufunc.CastStep, In: []int{2}, Out: []gufunc.Type{gufunc.Float64}},
		{Kind: gufunc.CastStep, In: []int{0}, Out: []gufunc.Type{gufunc.Bool}},
		{Kind: gufunc.SelectStep, In: []int{4, 3, 0}, Out: []gufunc.Type{gufunc.Float64}},
	}, []int{5, 1})
	require.NoError(t, err)
	defer fused.Free()
	g, err := gufunc.New("whole", "()->(),()", []gufunc.Kernel{fused.Kernel()}, gufunc.AllFlags)
	require.NoError(t, err)
	for _, workers := range []int{1, 3} {
		r, err := g.Call([]gufunc.Array{x}, nil, gufunc.Options{Workers: workers})
		require.NoError(t, err)
		assert.Equal(t, 316.0, items(r.Outputs[0])[n-1])
		assert.Equal(t, 2.0, items(r.Outputs[1])[4])
		r.Free()
	}
}

func TestFlagsOfAFusedKernelNameTheElements(t *testing.T) {
	fused, err := gufunc.Fuse([]gufunc.Type{gufunc.Float64}, nil, []gufunc.Step{loopOf("sqrt", 0), loopOf("add", 1, 0)}, []int{2})
	require.NoError(t, err)
	defer fused.Free()
	g, err := gufunc.New("f", "()->()", []gufunc.Kernel{fused.Kernel()}, gufunc.AllFlags)
	require.NoError(t, err)
	r, err := g.Call([]gufunc.Array{float64s(t, []int64{3}, 1, -1, 4)}, nil, gufunc.Options{})
	require.NoError(t, err)
	defer r.Free()
	assert.Equal(t, []uint8{0, uint8(gufunc.Invalid), 0}, r.Codes)
}

func TestWhatFuseRefuses(t *testing.T) {
	d := []gufunc.Type{gufunc.Float64}
	for _, c := range []struct {
		steps   []gufunc.Step
		outputs []int
		want    string
	}{
		{nil, []int{0}, "at least one"},
		{[]gufunc.Step{loopOf("sqrt", 1)}, []int{1}, "value 1 of 1"},
		{[]gufunc.Step{loopOf("sqrt", 0)}, []int{0}, "value 0 is not given by a step"},
		{[]gufunc.Step{{Kind: gufunc.LoopStep, In: []int{0}, Out: d}}, []int{1}, "no loop"},
	} {
		_, err := gufunc.Fuse(d, nil, c.steps, c.outputs)
		assert.ErrorContains(t, err, c.want)
	}
}
