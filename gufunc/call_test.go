package gufunc_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/gufunc"
	"gridbuf/gufunc/kernels"
)

func TestInverseOfAStackWithASingularMatrix(t *testing.T) {
	a := float64s(t, []int64{5, 3, 3})
	clear(items(a)) // a block that was used before is not zero
	for e := range 5 {
		for i := range 3 {
			items(a)[e*9+i*4] = float64(e + i + 1)
		}
	}
	clear(items(a)[18:27])
	r, err := kernel(t, "inv").Call([]gufunc.Array{a}, nil, gufunc.Options{})
	require.NoError(t, err)
	defer r.Free()
	assert.True(t, r.SomeFailed())
	assert.Equal(t, []uint8{0, 0, gufunc.CodeStatus, 0, 0}, r.Codes)
	assert.Equal(t, []int64{5, 3, 3}, r.Outputs[0].Shape)
	out := items(r.Outputs[0])
	assert.True(t, math.IsNaN(out[18]))
	assert.InDelta(t, 1.0/6, out[4*9+4], 1e-15)
}

func TestFlagsNameTheElements(t *testing.T) {
	n := int64(300_000)
	x := float64s(t, []int64{n})
	for i := range items(x) {
		items(x)[i] = float64(i)
	}
	items(x)[7], items(x)[200_001] = -1, -4
	for _, workers := range []int{1, 2, 5} {
		r, err := kernel(t, "sqrt").Call([]gufunc.Array{x}, nil, gufunc.Options{Workers: workers})
		require.NoError(t, err)
		assert.EqualValues(t, 2, r.Failed)
		assert.EqualValues(t, n, r.Elements)
		assert.Equal(t, uint8(gufunc.Invalid), r.Codes[7])
		assert.Equal(t, uint8(gufunc.Invalid), r.Codes[200_001])
		assert.Equal(t, 100.0, items(r.Outputs[0])[10_000])
		r.Free()
	}
}

func TestAllGoodHasNoCodes(t *testing.T) {
	r, err := kernel(t, "sqrt").Call([]gufunc.Array{float64s(t, []int64{3}, 1, 4, 9)}, nil,
		gufunc.Options{})
	require.NoError(t, err)
	defer r.Free()
	assert.True(t, r.AllGood())
	assert.Nil(t, r.Codes)
	assert.Equal(t, []float64{1, 2, 3}, items(r.Outputs[0]))
}

func TestAllFailed(t *testing.T) {
	r, err := kernel(t, "divide").Call([]gufunc.Array{float64s(t, []int64{2}, 1, 0),
		float64s(t, []int64{1}, 0)}, nil, gufunc.Options{})
	require.NoError(t, err)
	defer r.Free()
	assert.True(t, r.AllFailed())
	assert.Equal(t, []uint8{uint8(gufunc.Divide), uint8(gufunc.Invalid)}, r.Codes)
}

func TestAPanicCostsOneElement(t *testing.T) {
	types := []alloc.Type{alloc.Float64, alloc.Float64}
	g, err := gufunc.New("double", "()->()", []gufunc.Kernel{{Form: gufunc.GoLoop, Types: types,
		Go: func(b gufunc.Block) int {
			for i := range b.N {
				x := *b.Float64(0, i)
				if x < 0 {
					panic("negative")
				}
				*b.Float64(1, i) = 2 * x
			}
			return 0
		}}}, 0)
	require.NoError(t, err)
	x := float64s(t, []int64{100_000})
	for i := range items(x) {
		items(x)[i] = float64(i)
	}
	items(x)[70_000] = -1
	for _, workers := range []int{1, 3} {
		r, err := g.Call([]gufunc.Array{x}, nil, gufunc.Options{Workers: workers})
		require.NoError(t, err)
		assert.EqualValues(t, 1, r.Failed)
		assert.Equal(t, gufunc.CodePanic, r.Codes[70_000])
		assert.Equal(t, 2.0*99_999, items(r.Outputs[0])[99_999])
		assert.Contains(t, gufunc.LastPanic(), "negative")
		r.Free()
	}
}

func TestOverlapMeansInputsCopiedFirst(t *testing.T) {
	v := float64s(t, []int64{100_000})
	for i := range items(v) {
		items(v)[i] = float64(i + 1)
	}
	low, high := view(v, 0, []int64{99_999}, []int64{8}), view(v, 1, []int64{99_999}, []int64{8})
	_, err := kernel(t, "divide").Call([]gufunc.Array{low, low, high}, nil, gufunc.Options{})
	require.NoError(t, err)
	want := make([]float64, 100_000)
	for i := range want {
		want[i] = 1
	}
	assert.Equal(t, want, items(v))
	for i := range items(v) {
		items(v)[i] = float64(i)
	}
	_, err = kernel(t, "sqrt").Call([]gufunc.Array{high, low}, nil, gufunc.Options{})
	require.NoError(t, err)
	for i, x := range items(v)[:99_999] {
		require.Equal(t, math.Sqrt(float64(i+1)), x)
	}
}

// Absent in a request says how an output lies; what is run may give any memory for it.
func TestMemoryOfOnesOwnForAnAbsentOutput(t *testing.T) {
	v, two := float64s(t, []int64{8}, 1, 2, 3, 4, 5, 6, 7, 8), float64s(t, []int64{}, 2)
	in := view(v, 0, []int64{6}, []int64{8})
	g := kernel(t, "divide")
	n, err := g.SelectKernel([]gufunc.TypeArg{{Type: alloc.Float64}, {Type: alloc.Float64}})
	require.NoError(t, err)
	c, err := g.Resolve(&gufunc.Request{Kernel: n, Operands: []gufunc.Operand{in.Operand,
		two.Operand, {Absent: true}}})
	require.NoError(t, err)
	defer c.Free()
	_, err = g.Run(c, []unsafe.Pointer{in.Data, two.Data, unsafe.Add(in.Data, 8)}, gufunc.Options{})
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 0.5, 1, 1.5, 2, 2.5, 3, 8}, items(v))
}

func TestInPlaceKeepsInputsForTheMask(t *testing.T) {
	x := float64s(t, []int64{4}, 4, -4, 9, -9)
	r, err := kernel(t, "sqrt").Call([]gufunc.Array{x, x}, nil, gufunc.Options{})
	require.NoError(t, err)
	assert.Equal(t, []uint8{0, 1, 0, 1}, r.Codes)
	assert.Equal(t, 3.0, items(x)[2])
}

func TestOutputsMayNotOverlap(t *testing.T) {
	x, one := float64s(t, []int64{4}, 1, 2, 3, 4), float64s(t, []int64{4})
	_, err := kernel(t, "sqrt").Call([]gufunc.Array{x, view(one, 0, []int64{4}, []int64{0})}, nil,
		gufunc.Options{})
	assert.ErrorContains(t, err, "share memory")
	rows := float64s(t, []int64{2, 3}, 1, 2, 3, 4, 5, 6)
	_, err = kernel(t, "minmax").Call([]gufunc.Array{rows, view(one, 0, []int64{2}, []int64{8}),
		view(one, 1, []int64{2}, []int64{8})}, nil, gufunc.Options{})
	assert.ErrorContains(t, err, "two outputs")
}

func TestAGeneratedKernelServesNobodyElse(t *testing.T) {
	g, err := gufunc.New("g", "()->()", nil, gufunc.AllFlags)
	require.NoError(t, err)
	nothing := func(gufunc.Block) int { return 0 }
	types := []alloc.Type{alloc.Float64, alloc.Float64}
	_, err = g.Add(gufunc.Kernel{Form: gufunc.GoLoop, Types: types, Go: nothing, Generated: true})
	require.NoError(t, err)
	_, err = g.SelectKernel([]gufunc.TypeArg{{Type: alloc.Float32}})
	assert.ErrorContains(t, err, "no kernel takes (float32)")
	_, err = g.Add(gufunc.Kernel{Form: gufunc.GoLoop, Types: types, Go: nothing})
	require.NoError(t, err)
	n, err := g.SelectKernel([]gufunc.TypeArg{{Type: alloc.Float64}})
	require.NoError(t, err)
	assert.Equal(t, 1, n)
}

func TestAnOutputNeedsEveryNameOfTheResult(t *testing.T) {
	named := func(shape []int64, dims ...alloc.Dim) gufunc.Operand {
		strides := make([]int64, len(shape))
		for d, step := len(shape)-1, int64(8); d >= 0; d-- {
			strides[d] = step
			step *= shape[d]
		}
		return gufunc.Operand{Type: alloc.Float64, Shape: shape, Strides: strides, Dims: dims}
	}
	g := kernel(t, "divide")
	n, err := g.SelectKernel([]gufunc.TypeArg{{Type: alloc.Float64}, {Type: alloc.Float64}})
	require.NoError(t, err)
	plane, column := named([]int64{3, 4}, alloc.I, alloc.J), named([]int64{1}, alloc.K)
	resolve := func(out gufunc.Operand) error {
		c, err := g.Resolve(&gufunc.Request{Kernel: n, Operands: []gufunc.Operand{plane, column,
			out}})
		if err == nil {
			c.Free()
		}
		return err
	}
	assert.ErrorContains(t, resolve(named([]int64{3, 4}, alloc.I, alloc.J)),
		"out: its dimensions [I J] lack K; the result has [I J K]")
	assert.ErrorContains(t, resolve(named([]int64{2, 3, 4, 1})), "without names")
	assert.NoError(t, resolve(named([]int64{1, 3, 4}, alloc.K, alloc.I, alloc.J)))
	assert.NoError(t, resolve(named([]int64{3, 4, 1})))
}

// Core axes that are not the last ones, as the extension's axis=, axes= and keepdims= ask for them.
func TestCoreAxesElsewhere(t *testing.T) {
	g := kernel(t, "dot")
	n, err := g.SelectKernel([]gufunc.TypeArg{{Type: alloc.Float64}, {Type: alloc.Float64}})
	require.NoError(t, err)
	resolve := func(change func(*gufunc.Request)) (string, error) {
		q := &gufunc.Request{Kernel: n, Operands: []gufunc.Operand{
			{Type: alloc.Float64, Shape: []int64{3, 4}, Strides: []int64{32, 8},
				Dims: []alloc.Dim{alloc.I, alloc.J}},
			{Type: alloc.Float64, Shape: []int64{3, 4}, Strides: []int64{32, 8},
				Dims: []alloc.Dim{alloc.I, alloc.J}}, {Absent: true},
		}}
		change(q)
		c, err := g.Resolve(q)
		if err != nil {
			return "", err
		}
		defer c.Free()
		assert.Equal(t, []int64{3, 4}, q.Operands[0].Shape, "the request stays as it is")
		return fmt.Sprint(c.OuterShape()), nil
	}
	first, name := int64(0), alloc.I
	for want, change := range map[string]func(*gufunc.Request){
		"[3]":  func(q *gufunc.Request) {},
		"[4]":  func(q *gufunc.Request) { q.Axis = &first },
		"[4] ": func(q *gufunc.Request) { q.AxisName = &name },
		"[3] ": func(q *gufunc.Request) { q.Axes = [][]int64{{1}, {-1}} },
	} {
		got, err := resolve(change)
		require.NoError(t, err)
		assert.Equal(t, strings.TrimSpace(want), got)
	}
	missing := alloc.K
	for why, change := range map[string]func(*gufunc.Request){
		"axis: input 0 has no dimension K": func(q *gufunc.Request) { q.AxisName = &missing },
		"axes: 1 entries for 3 operands":   func(q *gufunc.Request) { q.Axes = [][]int64{{1}} },
		"axes: entry 0 has 2 axes, the operand's core has 1": func(q *gufunc.Request) {
			q.Axes = [][]int64{{0, 1}, {0}}
		},
		"axis: 2 is out of range for input 1, which has 2": func(q *gufunc.Request) {
			q.Axes = [][]int64{{0}, {2}}
		},
		"out: keepdims needs the kept axes to have size 1": func(q *gufunc.Request) {
			q.KeepDims = true
			q.Operands[2] = q.Operands[0]
		},
		"axis: I is a name, and input 1 has none": func(q *gufunc.Request) {
			q.AxisName = &name
			q.Operands[1].Dims = nil
		},
	} {
		_, err := resolve(change)
		assert.ErrorContains(t, err, why)
	}
}

func three(t *testing.T, kind alloc.Type) gufunc.Array {
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{3}, ItemSize: kind.Size()})
	require.NoError(t, err)
	b, err := alloc.New(plan)
	require.NoError(t, err)
	t.Cleanup(b.Free)
	a, err := gufunc.ArrayOf(b, kind)
	require.NoError(t, err)
	return a
}

// Bools become each type for a kernel that copies, and what it gives becomes complex: all the
// numbers that there are.
func TestEveryNumberConverts(t *testing.T) {
	truths, results := three(t, alloc.Bool), three(t, alloc.Complex128)
	copy(unsafe.Slice((*bool)(truths.Data), 3), []bool{true, false, true})
	for kind := alloc.Bool; kind < alloc.Datetime; kind++ {
		size := int(kind.Size())
		g, err := gufunc.New("copy", "()->()", []gufunc.Kernel{{Form: gufunc.GoLoop,
			Types: []alloc.Type{kind, kind}, Go: func(b gufunc.Block) int {
				for i := range b.N {
					copy(unsafe.Slice((*byte)(b.At(1, i)), size),
						unsafe.Slice((*byte)(b.At(0, i)), size))
				}
				return 0
			}}}, 0)
		require.NoError(t, err, kind)
		_, err = g.Call([]gufunc.Array{truths, results}, nil, gufunc.Options{})
		require.NoError(t, err, kind)
		assert.Equal(t, []complex128{1, 0, 1}, unsafe.Slice((*complex128)(results.Data), 3), kind)
	}
}

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
