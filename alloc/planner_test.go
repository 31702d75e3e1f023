package alloc_test

import (
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/alloc/internal/plantest"
)

// chooser draws requests; most are right, and every kind of mistake is among them.
type chooser struct{ *rand.Rand }

func (c chooser) one(of ...int64) int64 { return of[c.Intn(len(of))] }

func (c chooser) size() int64 {
	if c.Intn(40) == 0 {
		return c.one(-1, 1<<20, 1<<31, 1<<40, 1<<45, 1<<59, 1<<62, math.MaxInt64)
	}
	return int64(c.Intn(12))
}

func (c chooser) list(n int, entry func() int64) []int64 {
	if c.Intn(30) == 0 {
		n = min(max(0, n+c.Intn(3)-1), alloc.MaxDims)
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = entry()
	}
	return out
}

func (c chooser) dims(n int) []alloc.Dim {
	var out []alloc.Dim
	for range c.list(n, func() int64 { return 0 }) {
		out = append(out, alloc.I+alloc.Dim(c.Intn(8)))
	}
	if c.Intn(4) > 0 {
		for i, k := range c.Perm(len(out)) {
			out[i] = alloc.Dim(k - 3)
		}
	}
	if len(out) > 0 && c.Intn(50) == 0 {
		out[c.Intn(len(out))] = alloc.Dim(c.one(-4, 10, math.MaxInt32, math.MinInt32))
	}
	return out
}

func (c chooser) layout(n int) []int32 {
	var out []int32
	for _, k := range c.Perm(len(c.list(n, func() int64 { return 0 }))) {
		out = append(out, int32(k))
	}
	if len(out) > 0 && c.Intn(30) == 0 {
		out[0] = int32(c.one(-1, 0, 31, 1<<30))
	}
	return out
}

func (c chooser) preset(names []string) *alloc.Preset {
	if c.Intn(10) == 0 {
		return nil
	}
	if c.Intn(10) == 0 { // what Register would refuse is a preset in Go, too
		return &alloc.Preset{Order: alloc.Order(c.Intn(4)), Axes: "JIK",
			Alignment: c.one(-3, 0, 1, 3, 7, 32, 1<<30)}
	}
	p, _ := alloc.FindPreset(names[c.Intn(len(names))])
	return p
}

func (c chooser) spec(names []string) *alloc.Spec {
	n := c.Intn(6)
	if c.Intn(50) == 0 {
		n = 30 + c.Intn(5)
	}
	s := &alloc.Spec{
		Shape: make([]int64, n), ItemSize: c.one(0, 1, 2, 4, 8, 8, 8, 12, 16, 24, 100, 1<<30,
			1<<45), Preset: c.preset(names),
		Padding:       c.one(0, 0, 0, 1, 2, 3, 8, -1, -1, -2, 1<<30, math.MaxInt64),
		ByteAlignment: c.one(0, 0, 0, 1, 8, 64, 256, 4096, 1<<30, 48, -8, 1<<31),
		Alignment:     c.one(0, 0, 0, 1, 3, 4, 32, 1<<24, -1, 1<<24+1),
		Device:        alloc.Device(c.one(0, 0, 1, 2)),
		DeviceID:      c.Intn(3), Memory: alloc.Memory(c.one(0, 0, 1, 2)),
	}
	for i := range s.Shape {
		s.Shape[i] = c.size()
	}
	if n > 0 && c.Intn(5) == 0 {
		s.SubShape = c.Intn(n + 1)
	}
	if c.Intn(2) == 0 {
		s.Dims = c.dims(n - s.SubShape)
	}
	if c.Intn(2) == 0 {
		s.AlignedIndex = c.list(n-s.SubShape, func() int64 {
			return c.one(0, 1, 2, 3, 5, 17, 1<<40,
				math.MaxInt64, -1)
		})
	}
	if c.Intn(3) == 0 {
		s.Layout = c.layout(n - c.Intn(2)*s.SubShape)
	}
	if c.Intn(300) == 0 {
		s.ItemSize, s.SubShape, s.Device, s.Memory = c.one(-1, 8), c.Intn(9)-1,
			alloc.Device(c.Intn(5)-1), alloc.Memory(c.Intn(5)-1)
	}
	return s
}

// The planner, which is C, and its oracle: the same request, the same answer.
func TestThePlannerAnswersAsItsOracle(t *testing.T) {
	c := chooser{rand.New(rand.NewSource(7))}
	names, refused := alloc.Presets(), map[string]int{}
	for range 100_000 {
		s := c.spec(names)
		got, other := alloc.NewPlan(s)
		want, err := plantest.NewPlan(s)
		if err != nil {
			refused[err.Error()[:9]]++
		}
		if want != nil && want.Size > 0 && want.Bytes/want.Size != want.ItemSize {
			t.Fatalf("%+v: %v has more bytes than can be counted", s, want)
		}
		require.Equal(t, err, other, "%+v", s)
		require.Equal(t, want, plantest.Of(got), "%+v", s)
		if got != nil {
			require.Greater(t, got.AllocBytes(), got.Span(), "%+v", s)
		}
	}
	require.Greater(t, len(refused), 6, "every kind of mistake is tried")
	total := 0
	for _, n := range refused {
		total += n
	}
	require.Less(t, total, 80_000, "and many requests are right")
}

func TestThePlannerReadsMemoryBackAsItsOracle(t *testing.T) {
	c := chooser{rand.New(rand.NewSource(8))}
	for range 100_000 {
		n := c.Intn(6)
		if c.Intn(50) == 0 {
			n = 31 + c.Intn(4)
		}
		shape, strides, dims := make([]int64, n), make([]int64, n), alloc.DefaultDims(n)
		for i := range n {
			shape[i] = c.size()
			strides[i] = c.one(0, 1, 8, 8, 16, 24, 64, 80, -8, -64, int64(c.Intn(1000)), 1<<40,
				math.MaxInt64, math.MinInt64)
		}
		item, addr := c.one(0, 1, 8, 12), uintptr(c.Int63())&^(1<<c.Intn(20)-1)
		got, other := alloc.Describe(shape, strides, dims, item, addr)
		want, err := plantest.Describe(shape, strides, dims, item, addr)
		require.Equal(t, err, other, "%v %v", shape, strides)
		require.Equal(t, want, plantest.Of(got), "%v %v %d %x", shape, strides, item, addr)
	}
}
