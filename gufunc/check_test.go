package gufunc_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/gufunc"
	"gridbuf/internal/record"
)

// Operands that cannot be are refused by every function before anything is worked out or read.
func TestOperandsThatAreNone(t *testing.T) {
	add, x := kernel(t, "add"), float64s(t, []int64{2, 3}, 1, 2, 3, 4, 5, 6)
	for why, change := range map[string]func(*gufunc.Array){
		"unknown element type 77":    func(a *gufunc.Array) { a.Type = 77 },
		"unknown element type -1":    func(a *gufunc.Array) { a.Type = -1 },
		"unknown element type 0":     func(a *gufunc.Array) { a.Type = alloc.Raw },
		"2 dimensions and 1 strides": func(a *gufunc.Array) { a.Strides = a.Strides[:1] },
		"33 dimensions and 33 strides": func(a *gufunc.Array) {
			a.Shape = make([]int64, 33)
			a.Strides = make([]int64, 33)
		},
		"Shape[1] is -3": func(a *gufunc.Array) {
			a.Shape = []int64{2, -3}
		},
		"1 names for 2 dimensions": func(a *gufunc.Array) {
			a.Dims = []alloc.Dim{alloc.I}
		},
		"Data is nil, and shape [2 3] has elements": func(a *gufunc.Array) { a.Data = nil },
	} {
		bad := x
		change(&bad)
		for at, name := range []string{"input 0", "input 1", "out"} {
			operands := []gufunc.Array{x, x, x}
			operands[at] = bad
			_, err := add.Call(operands, nil, gufunc.Options{})
			require.ErrorIs(t, err, alloc.ErrInvalid, "%s: %s", name, why)
			assert.ErrorContains(t, err, name+": "+why)
		}
		_, err := add.Call([]gufunc.Array{x, x}, &bad, gufunc.Options{})
		assert.ErrorContains(t, err, "where: ")
		_, err = add.Reduce(bad, gufunc.ReduceOptions{})
		require.ErrorIs(t, err, alloc.ErrInvalid)
		assert.Regexp(t, "array: |input 0: ", err.Error())
		_, err = add.Reduce(x, gufunc.ReduceOptions{Where: &bad,
			Identity: unsafe.Pointer(new(float64))})
		assert.ErrorContains(t, err, "where: ")
	}
	_, err := add.Call([]gufunc.Array{x, x}, &x, gufunc.Options{})
	assert.EqualError(t, err, "where: expected bools, got float64")
	nothing := gufunc.Array{Operand: gufunc.Operand{Type: alloc.Float64, Shape: []int64{0, 3},
		Strides: []int64{24, 8}}}
	r, err := add.Call([]gufunc.Array{nothing, nothing}, nil, gufunc.Options{})
	require.NoError(t, err, "no elements, and so no memory")
	r.Free()
}

func TestTypesThatNoKernelHas(t *testing.T) {
	g := kernel(t, "add")
	strong := gufunc.TypeArg{Type: alloc.Float64}
	for _, args := range [][]gufunc.TypeArg{{strong, {Type: 77}}, {strong, {Type: alloc.Raw}},
		{strong, {Weak: 9}}} {
		_, err := g.SelectKernel(args)
		require.ErrorIs(t, err, alloc.ErrInvalid)
		assert.ErrorContains(t, err, "input 1: ")
		_, err = record.SelectAsked(g, args, make([]alloc.Type, 3), 0)
		assert.ErrorContains(t, err, "input 1: ")
	}
	_, err := record.SelectAsked(g, []gufunc.TypeArg{strong, strong}, make([]alloc.Type, 3), 9)
	assert.EqualError(t, err, "casting: Casting(9) is no rule")
	three := []alloc.Type{alloc.Float64, alloc.Float64, 77}
	for _, k := range []gufunc.Kernel{
		{Form: gufunc.NumPyLoop, Function: 8, Types: three}, {Form: 7, Function: 8,
			Types: three[:2:2]},
		{Types: []alloc.Type{alloc.Raw, alloc.Raw, alloc.Raw}, Function: 8,
			Form: gufunc.StatusLoop},
	} {
		_, err := g.Add(k)
		require.ErrorIs(t, err, alloc.ErrInvalid)
	}
	_, err = g.AddState(gufunc.StateKernel{Step: 8, Merge: 8, Final: 8, Init: []byte{0},
		Types: three})
	require.ErrorIs(t, err, alloc.ErrInvalid)
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{5}, ItemSize: 1})
	require.NoError(t, err)
	b, err := alloc.New(plan)
	require.NoError(t, err)
	defer b.Free()
	_, err = gufunc.ArrayOf(b, alloc.Float64)
	assert.EqualError(t, err, "t: an element of type float64 has 8 bytes, one of the plan 1")
}

// A call, a reduction and a result are used until Free; the memory of a result has no address then.
func TestWhatIsFreedIsGone(t *testing.T) {
	g, x := kernel(t, "add"), float64s(t, []int64{3}, 1, 2, 3)
	q := &gufunc.Request{Operands: []gufunc.Operand{x.Operand, x.Operand, {Absent: true}}}
	var err error
	q.Kernel, err = g.SelectKernel([]gufunc.TypeArg{{Type: alloc.Float64}, {Type: alloc.Float64}})
	require.NoError(t, err)
	freed, err := g.Resolve(q)
	require.NoError(t, err)
	freed.Free()
	for why, c := range map[string]*gufunc.Call{
		"gufunc.Call: it is used after Free":        freed,
		"gufunc.Call: the zero value holds nothing": {},
	} {
		c.Free()
		for _, use := range []func(){func() { c.Elements() }, func() { c.Chunks() },
			func() { c.OuterShape() }} {
			assert.PanicsWithValue(t, why, use)
		}
		_, err := g.Run(c, []unsafe.Pointer{x.Data, x.Data, x.Data}, gufunc.Options{})
		assert.EqualError(t, err, why)
	}
	_, err = new(gufunc.Call).OutputPlan(0)
	assert.Error(t, err)
	r, err := g.Call([]gufunc.Array{x, x}, nil, gufunc.Options{})
	require.NoError(t, err)
	r.Free()
	assert.Nil(t, r.Outputs[0].Data)
	r.Free()
	given, err := g.Call([]gufunc.Array{x, x, x}, nil, gufunc.Options{})
	require.NoError(t, err)
	given.Free()
	assert.Equal(t, x.Data, given.Outputs[0].Data, "memory of the caller's stays")
	sum, err := g.PlanReduction(&gufunc.ReduceRequest{
		Kernel: q.Kernel, Array: x.Operand, Axes: []int{0}, Outs: []gufunc.Operand{{Absent: true}},
	})
	require.NoError(t, err)
	sum.Free()
	sum.Free()
	assert.PanicsWithValue(t, "gufunc.Reduction: it is used after Free", func() { sum.Tasks() })
	assert.PanicsWithValue(t, "gufunc.Reduction: the zero value holds nothing",
		func() { new(gufunc.Reduction).Shape() })
}

func TestTheZeroGUFunc(t *testing.T) {
	g, x := new(gufunc.GUFunc), float64s(t, []int64{3})
	calls := map[string]error{}
	_, calls["Call"] = g.Call([]gufunc.Array{x}, nil, gufunc.Options{})
	_, calls["Reduce"] = g.Reduce(x, gufunc.ReduceOptions{})
	_, calls["Resolve"] = g.Resolve(&gufunc.Request{})
	_, calls["PlanReduction"] = g.PlanReduction(&gufunc.ReduceRequest{})
	_, calls["SelectKernel"] = g.SelectKernel(nil)
	_, calls["SelectAsked"] = record.SelectAsked(g, []gufunc.TypeArg{}, []alloc.Type{}, 0)
	_, calls["Add"] = g.Add(gufunc.Kernel{})
	_, calls["AddState"] = g.AddState(gufunc.StateKernel{})
	calls["TurnShapes"] = record.TurnShapes(g, &gufunc.Request{})
	for name, err := range calls {
		assert.EqualError(t, err, "gufunc: it has no signature; New makes one", name)
	}
	_, err := kernel(t, "add").Resolve(nil)
	assert.ErrorContains(t, err, "0 operands")
	_, err = kernel(t, "add").PlanReduction(nil)
	assert.ErrorContains(t, err, "request: it is nil")
}

// drawer draws what requests are made of: now and then something that none can have.
type drawer struct{ *rand.Rand }

func (d drawer) ints(n int, from, to int64) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = from + d.Int64N(to-from)
	}
	return list
}

// number is that of a kernel, mostly of the first.
func (d drawer) number() int { return []int{0, 0, 0, 0, 0, 0, 1, -1}[d.IntN(8)] }

func (d drawer) operand() gufunc.Operand {
	n := 1 + d.IntN(3)
	if d.IntN(8) == 0 {
		n = 0
	}
	o := gufunc.Operand{Type: alloc.Type(d.IntN(22) - 1), Shape: d.ints(n, -1, 4),
		Strides: d.ints(n, -64, 64)}
	if d.IntN(8) > 0 {
		o.Type, o.Shape = alloc.Float64, d.ints(n, 2, 3)
	}
	switch d.IntN(24) {
	case 0:
		o.Strides = d.ints(d.IntN(4), -8, 8)
	case 1:
		copy(o.Shape, d.ints(1, 1<<61, 1<<62))
	case 2, 3:
		o.Dims = []alloc.Dim{alloc.I, alloc.J, alloc.K, 0}[:n]
	case 4:
		for range d.IntN(4) {
			o.Dims = append(o.Dims, alloc.Dim(d.IntN(8)-4))
		}
	case 5:
		o.Absent = true
	}
	return o
}

func (d drawer) request(g *gufunc.GUFunc) *gufunc.Request {
	q := &gufunc.Request{Kernel: d.number(), KeepDims: d.IntN(4) == 0}
	for i := range g.Signature.Operands {
		o := d.operand()
		o.Absent = o.Absent || i >= g.Signature.Inputs && d.IntN(2) == 0
		q.Operands = append(q.Operands, o)
	}
	switch d.IntN(8) {
	case 0:
		q.Operands = q.Operands[:d.IntN(len(q.Operands))]
	case 1:
		q.Sizes = d.ints(d.IntN(4), -1, 4)
	case 2:
		for range d.IntN(4) {
			q.Axes = append(q.Axes, d.ints(d.IntN(3), -4, 4))
		}
	case 3:
		axis := d.Int64N(9) - 4
		q.Axis = &axis
	case 4:
		name := alloc.Dim(d.IntN(6) - 4)
		q.AxisName = &name
	case 5:
		mask := d.operand()
		q.Where = &mask
	case 6:
		mask := d.operand()
		mask.Type = alloc.Bool
		q.Where = &mask
	}
	return q
}

// Whatever is asked for, planning answers with a plan or an error.
func TestDrawnRequestsAreAnswered(t *testing.T) {
	d := drawer{rand.New(rand.NewPCG(7, 77))}
	nothing := func(gufunc.Block) int { return 0 }
	gufuncs := []*gufunc.GUFunc{kernel(t, "add"), kernel(t, "inv"), kernel(t, "dot"),
		kernel(t, "moments")}
	for _, signature := range []string{
		"(n?,k),(k,m?)->(n?,m?)", "(n|1),(n|1)->()", "(m),(n)->(m+n-1)", "(3),(n,3)->(n)",
		"()->(),();k:i64", "->(n)",
	} {
		g, err := gufunc.New("drawn", signature, nil, 0)
		require.NoError(t, err)
		types := slices.Repeat([]alloc.Type{alloc.Float64}, len(g.Signature.Operands))
		_, err = g.Add(gufunc.Kernel{Form: gufunc.GoLoop, Types: types, Go: nothing})
		require.NoError(t, err)
		gufuncs = append(gufuncs, g)
	}
	answered, refused := 0, 0
	count := func(err error) {
		if err == nil {
			answered++
			return
		}
		refused++
		require.NotEmpty(t, err.Error())
	}
	for range 30_000 {
		g := gufuncs[d.IntN(len(gufuncs))]
		c, err := g.Resolve(d.request(g))
		count(err)
		if err == nil {
			for i := range g.Signature.Operands {
				_, _ = c.OutputPlan(i)
			}
			c.Free()
		}
		_ = record.TurnShapes(g, d.request(g))
		q := &gufunc.ReduceRequest{
			Kernel: d.number(), State: d.IntN(4) == 0, Array: d.operand(), KeepDims: d.IntN(2) == 0,
			Sequential: d.IntN(2) == 0, OneByOne: d.IntN(2) == 0, Identity: d.IntN(2) == 0,
		}
		for a := range d.IntN(3) {
			q.Axes = append(q.Axes, a+d.IntN(8)/7)
		}
		for range g.Signature.Outputs() + d.IntN(8)/7 {
			o := d.operand()
			o.Absent = o.Absent || d.IntN(4) > 0
			q.Outs = append(q.Outs, o)
		}
		if d.IntN(4) == 0 {
			mask := d.operand()
			mask.Type = alloc.Bool
			q.Where = &mask
		}
		r, err := g.PlanReduction(q)
		count(err)
		if err == nil {
			_, _ = r.Tasks(), r.Shape()
			r.Free()
		}
	}
	assert.Greater(t, answered, 1000)
	assert.Greater(t, refused, 1000)
}

// A context is asked first, and ends calls and reductions that are under way.
func TestCallsAndReductionsAreCancelled(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	g, x := kernel(t, "sqrt"), float64s(t, []int64{100})
	_, err := g.Call([]gufunc.Array{x}, nil, gufunc.Options{Context: done})
	assert.ErrorIs(t, err, context.Canceled)
	_, err = kernel(t, "add").Reduce(x, gufunc.ReduceOptions{Context: done})
	assert.ErrorIs(t, err, context.Canceled)

	for _, workers := range []int{1, 3} {
		ctx, cancel := context.WithCancel(context.Background())
		elements := atomic.Int64{}
		types := []alloc.Type{alloc.Float64, alloc.Float64}
		slow, err := gufunc.New("slow", "()->()", []gufunc.Kernel{{Form: gufunc.GoLoop,
			Types: types, Go: func(b gufunc.Block) int {
				if elements.Add(int64(b.N)) > 50 {
					cancel()
				}
				time.Sleep(time.Millisecond)
				return 0
			}}}, 0)
		require.NoError(t, err)
		_, err = slow.Call([]gufunc.Array{float64s(t, []int64{1_000_000})}, nil,
			gufunc.Options{Context: ctx, Workers: workers})
		assert.ErrorIs(t, err, context.Canceled)
		assert.Less(t, elements.Load(), int64(900_000))
		cancel()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	large := float64s(t, []int64{4_000_000})
	began := time.Now()
	for err == nil || time.Since(began) < time.Minute {
		o := gufunc.ReduceOptions{Context: ctx, Sequential: true,
			Identity: unsafe.Pointer(new(float64))}
		r, failure := kernel(t, "add").Reduce(large, o)
		if err = failure; err != nil {
			break
		}
		r.Free()
	}
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	r, err := kernel(t, "add").Reduce(x, gufunc.ReduceOptions{Context: context.Background(),
		Identity: unsafe.Pointer(new(float64))})
	require.NoError(t, err)
	r.Free()
}

// Memory of Go's is pinned for the call.
func TestMemoryOfGo(t *testing.T) {
	x, out := []float64{1, 4, 9}, make([]float64, 3)
	of := func(s []float64) gufunc.Array {
		o := gufunc.Operand{Type: alloc.Float64, Shape: []int64{3}, Strides: []int64{8}}
		return gufunc.Array{Operand: o, Data: unsafe.Pointer(&s[0])}
	}
	_, err := kernel(t, "sqrt").Call([]gufunc.Array{of(x), of(out)}, nil, gufunc.Options{})
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 2, 3}, out)
	r, err := kernel(t, "add").Reduce(of(x), gufunc.ReduceOptions{})
	require.NoError(t, err)
	defer r.Free()
	assert.Equal(t, 14.0, items(r.Outputs[0])[0])
}
