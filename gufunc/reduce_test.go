package gufunc_test

import (
	"gridbuf/alloc"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/gufunc"
)

func TestReductionsDoNotDependOnTheWorkers(t *testing.T) {
	add, zero := kernel(t, "add"), new(float64)
	for _, shape := range [][]int64{{300_000}, {5, 70_001}, {70_001, 5}, {100, 2000},
		{20, 300, 30}} {
		x := float64s(t, shape)
		for i := range items(x) {
			items(x)[i] = math.Sin(float64(i))
		}
		for axis := -1; axis < len(shape); axis++ {
			o := gufunc.ReduceOptions{Identity: unsafe.Pointer(zero)}
			if axis >= 0 {
				o.Axes = []int{axis}
			}
			var first []float64
			for _, o.Workers = range []int{1, 2, 5} {
				r, err := add.Reduce(x, o)
				require.NoError(t, err)
				if first == nil {
					first = append(first, items(r.Outputs[0])...)
				}
				assert.Equal(t, first, items(r.Outputs[0]), "%v, axis %d, %d workers", shape, axis,
					o.Workers)
				r.Free()
			}
		}
	}
}

func TestAFailedReductionSaysWhich(t *testing.T) {
	x := float64s(t, []int64{3, 4}, 1, 1, 1, 1, math.Inf(1), math.Inf(-1), 1, 1, 1, 1, 1, 1)
	r, err := kernel(t, "add").Reduce(x, gufunc.ReduceOptions{Axes: []int{1}})
	require.NoError(t, err)
	defer r.Free()
	assert.Equal(t, []uint8{0, 1, 0}, r.Codes)
	assert.True(t, r.SomeFailed())
}

func TestReductionsThatCannotBe(t *testing.T) {
	x := float64s(t, []int64{3, 0})
	_, err := kernel(t, "maximum").Reduce(x, gufunc.ReduceOptions{Axes: []int{1}})
	assert.ErrorContains(t, err, "nothing to reduce")
	_, err = kernel(t, "add").Reduce(x, gufunc.ReduceOptions{Axes: []int{2}})
	assert.ErrorContains(t, err, "axes")
	_, err = kernel(t, "inv").Reduce(x, gufunc.ReduceOptions{})
	assert.Error(t, err)
}

func TestWhereAnExtremeIs(t *testing.T) {
	for n := range int64(1200) {
		x := float64s(t, []int64{n + 1})
		for i := range items(x) {
			items(x)[i] = math.Floor(50 * math.Sin(float64(i*i+int(n))))
		}
		want := 0
		for i, v := range items(x) {
			if v > items(x)[want] {
				want = i
			}
		}
		r, err := kernel(t, "argmax").Reduce(x, gufunc.ReduceOptions{})
		require.NoError(t, err)
		assert.Equal(t, int64(want), *(*int64)(r.Outputs[0].Data), "%d elements", n+1)
		r.Free()
	}
}

// meeting is a kernel whose elements nap for so many milliseconds, or, when negative,
// wait until two of them run at once; those that waited in vain fail.
type meeting struct {
	inside, elements atomic.Int32
	met              chan struct{}
	once             sync.Once
}

func (m *meeting) run(b gufunc.Block) int {
	failed := 0
	for i := range b.N {
		m.elements.Add(1)
		x := *b.Float64(0, i)
		*b.Float64(1, i) = 2 * x
		if x >= 0 {
			time.Sleep(time.Duration(x * float64(time.Millisecond)))
			continue
		}
		if m.inside.Add(1) > 1 {
			m.once.Do(func() { close(m.met) })
		}
		select {
		case <-m.met:
		case <-time.After(10 * time.Second):
			b.Status[i] = 1
			failed++
		}
		m.inside.Add(-1)
	}
	return failed
}

func slow(t *testing.T, m *meeting) *gufunc.GUFunc {
	t.Helper()
	g, err := gufunc.New("slow", "()->()", []gufunc.Kernel{{Form: gufunc.GoLoop,
		Types: []alloc.Type{alloc.Float64, alloc.Float64}, Go: m.run}}, 0)
	require.NoError(t, err)
	return g
}

func TestSlowElementsAreShared(t *testing.T) {
	for name, before := range map[string]int{"at once": 0, "after 300 quick ones": 300,
		"late": 3000} {
		t.Run(name, func(t *testing.T) {
			m := &meeting{met: make(chan struct{})}
			// What was quick may lie in one hand by the 40th (pieces.c), and that hand be the only
			// one so far: it finds slow elements, and those that wait for each other are shared.
			slowOnes, waiting := 5+before/40, 20+before/20
			x := float64s(t, []int64{int64(before + slowOnes + waiting)})
			for i := range slowOnes {
				items(x)[before+i] = 5
			}
			for i := range waiting {
				items(x)[before+slowOnes+i] = -1
			}
			r, err := slow(t, m).Call([]gufunc.Array{x}, nil, gufunc.Options{Workers: 2})
			require.NoError(t, err)
			defer r.Free()
			assert.True(t, r.AllGood(), "two workers never met")
			assert.EqualValues(t, before+slowOnes+waiting, m.elements.Load())
			assert.Equal(t, -2.0, items(r.Outputs[0])[before+slowOnes-1+waiting])
		})
	}
}

func TestQuickElementsAreNotDoneOneByOne(t *testing.T) {
	calls := atomic.Int32{}
	count := func(b gufunc.Block) int {
		calls.Add(1)
		return 0
	}
	g, err := gufunc.New("quick", "()->()", []gufunc.Kernel{{Form: gufunc.GoLoop,
		Types: []alloc.Type{alloc.Float64, alloc.Float64}, Go: count}}, 0)
	require.NoError(t, err)
	r, err := g.Call([]gufunc.Array{float64s(t, []int64{1_000_000})}, nil,
		gufunc.Options{Workers: 1})
	require.NoError(t, err)
	r.Free()
	assert.Less(t, calls.Load(), int32(3000))
}
