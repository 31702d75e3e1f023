package gufunc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/gufunc"
	"gridbuf/gufunc/kernels"
)

func step(name string, in ...int) gufunc.Step {
	g, err := kernels.New(name)
	if err != nil {
		panic(err)
	}
	return g.Step(in...)
}

func TestFusedOutputsAndCasts(t *testing.T) {
	n := 100_003
	x := float64s(t, []int64{int64(n)})
	for i := range items(x) {
		items(x)[i] = float64(i)
	}
	fused, err := gufunc.Fuse([]alloc.Type{alloc.Float64}, []gufunc.Step{
		step("sqrt", 0),
		{Kind: gufunc.CastStep, In: []int{1}, Out: []alloc.Type{alloc.Int64}},
		{Kind: gufunc.CastStep, In: []int{2}, Out: []alloc.Type{alloc.Float64}},
		{Kind: gufunc.CastStep, In: []int{0}, Out: []alloc.Type{alloc.Bool}},
		{Kind: gufunc.SelectStep, In: []int{4, 3, 0}, Out: []alloc.Type{alloc.Float64}},
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
	fused, err := gufunc.Fuse([]alloc.Type{alloc.Float64},
		[]gufunc.Step{step("sqrt", 0), step("add", 1, 0)}, []int{2})
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
	d := []alloc.Type{alloc.Float64}
	inGo, err := gufunc.New("half", "()->()", []gufunc.Kernel{{Form: gufunc.GoLoop,
		Types: append(d, d...), Go: func(gufunc.Block) int { return 0 }}}, 0)
	require.NoError(t, err)
	one := func(kind gufunc.StepKind, out []alloc.Type, in ...int) []gufunc.Step {
		return []gufunc.Step{{Kind: kind, In: in, Out: out}}
	}
	for _, c := range []struct {
		inputs  []alloc.Type
		steps   []gufunc.Step
		outputs []int
		want    string
	}{
		{d, nil, []int{0}, "at least one"},
		{d, []gufunc.Step{step("sqrt", 1)}, []int{1}, "value 1 of 1"},
		{d, []gufunc.Step{step("sqrt", 0)}, []int{0}, "value 0 is not given by a step"},
		{d, one(gufunc.LoopStep, d, 0), []int{1}, "no loop"},
		{d, one(gufunc.LoopStep, d), []int{1}, "0 inputs and 1 outputs; both are needed"},
		{d, []gufunc.Step{inGo.Step(0)}, []int{1}, "for which half has no NumPyLoop"},
		{d, []gufunc.Step{step("moments", 0)}, []int{1}, "for which moments has no NumPyLoop"},
		{d, []gufunc.Step{step("add", 0)}, []int{1}, "takes values of types d, for which add has"},
		{[]alloc.Type{alloc.Float64, alloc.Float32}, []gufunc.Step{step("add", 0, 1)}, []int{2},
			"takes values of types df, for which add has"},
		{[]alloc.Type{alloc.Type(77)}, []gufunc.Step{step("sqrt", 0)}, []int{1}, "type 77"},
		{d, one(gufunc.CastStep, []alloc.Type{alloc.Raw}, 0), []int{1}, "type 0"},
		{d, one(gufunc.CastStep, d, 0, 0), []int{1}, "converts 2 values into 1"},
		{d, one(gufunc.SelectStep, d, 0), []int{1}, "expected a bool and two values"},
		{d, one(gufunc.SelectStep, d, 0, 0, 0), []int{1}, "expected a bool and two values"},
		{d, one(gufunc.StepKind(9), d, 0), []int{1}, "of kind 9"},
	} {
		_, err := gufunc.Fuse(c.inputs, c.steps, c.outputs)
		assert.ErrorContains(t, err, c.want)
		assert.ErrorIs(t, err, alloc.ErrInvalid)
	}
}

func TestAFusedKernelIsFreedOnce(t *testing.T) {
	fused, err := gufunc.Fuse([]alloc.Type{alloc.Float64}, []gufunc.Step{step("sqrt", 0)},
		[]int{1})
	require.NoError(t, err)
	fused.Free()
	fused.Free()
	const late = "gufunc.Fused: it is used after Free"
	assert.PanicsWithValue(t, late, func() { fused.Kernel() })
	new(gufunc.Fused).Free()
}
