package alloc

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func preset(t *testing.T, name string) *Preset {
	t.Helper()
	n, err := PresetNumber(name)
	require.NoError(t, err)
	p, err := PresetByNumber(n)
	require.NoError(t, err)
	return p
}

func dims(t *testing.T, s string) []Dim {
	t.Helper()
	d, err := ParseDims(s)
	require.NoError(t, err)
	return d
}

// The table of the storages document: layouts by preset and dimensions.
func TestPresetLayouts(t *testing.T) {
	order := []string{"IJK", "IJ", "IK", "JK", "IJK0"}
	table := map[string][]string{
		"numpy": {"[0 1 2]", "[0 1]", "[0 1]", "[0 1]", "[1 2 3 0]"}, "debug": nil, "gt:cpu_kfirst": nil, "dace:cpu_kfirst": nil,
		"gtx86": nil, "dace:gpu_IJK": nil,
		"gt:cpu_ifirst": {"[2 1 0]", "[1 0]", "[1 0]", "[1 0]", "[3 2 1 0]"}, "dace:cpu_KJI": nil, "gt:gpu": nil, "dace:gpu": nil, "gtcuda": nil, "cuda": nil,
		"dace:cpu": {"[1 2 0]", "[0 1]", "[1 0]", "[1 0]", "[2 3 1 0]"},
		"gtmc":     {"[2 0 1]", "[1 0]", "[1 0]", "[0 1]", "[3 1 2 0]"},
		"C":        {"[0 1 2]", "[0 1]", "[0 1]", "[0 1]", "[0 1 2 3]"},
		"F":        {"[2 1 0]", "[1 0]", "[1 0]", "[1 0]", "[3 2 1 0]"},
	}
	same := map[string]string{"debug": "numpy", "gt:cpu_kfirst": "numpy", "dace:cpu_kfirst": "numpy", "gtx86": "numpy", "dace:gpu_IJK": "numpy",
		"dace:cpu_KJI": "gt:cpu_ifirst", "gt:gpu": "gt:cpu_ifirst", "dace:gpu": "gt:cpu_ifirst", "gtcuda": "gt:cpu_ifirst", "cuda": "gt:cpu_ifirst"}
	for name, want := range table {
		if want == nil {
			want = table[same[name]]
		}
		for i, d := range order {
			got := make([]int32, len(d))
			preset(t, name).layout(dims(t, d), got)
			assert.Equal(t, want[i], fmt.Sprint(got), "%s %s", name, d)
		}
	}
	assert.Len(t, Presets(), len(builtin))
}

func TestPresetsOrderByNameWhateverTheIndexOrder(t *testing.T) {
	got := make([]int32, 3)
	preset(t, "gt:cpu_kfirst").layout(dims(t, "KJI"), got)
	assert.Equal(t, []int32{2, 1, 0}, got)
}

// The worked examples of the storages document.
func TestAllocationRule(t *testing.T) {
	cases := []struct {
		backend, dims    string
		shape, aligned   []int64
		strides          []int64
		offset, aligned2 int64
	}{
		{"gtmc", "IJK", []int64{12, 12, 7}, []int64{2, 2, 0}, []int64{8, 896, 128}, 48, 64},
		{"gtmc", "KIJ", []int64{7, 12, 12}, []int64{0, 2, 2}, []int64{128, 8, 896}, 48, 64},
		{"gtx86", "IJK0", []int64{4, 5, 6, 3}, nil, []int64{240, 48, 8, 960}, 0, 64},
		{"gtcuda", "IJK", []int64{12, 12, 7}, []int64{2, 2, 0}, []int64{8, 256, 3072}, 240, 256},
		{"gt:cpu_ifirst", "IJK", []int64{10, 10, 10}, []int64{1, 1, 0}, []int64{8, 80, 800}, 64 - 88%64, 64},
		{"C", "IJK", []int64{3, 0, 2}, nil, []int64{16, 16, 8}, 0, 64},
		{"C", "", nil, nil, []int64{}, 0, 64},
	}
	for _, c := range cases {
		p, err := NewPlan(&Spec{Shape: c.shape, ItemSize: 8, Preset: preset(t, c.backend), Dims: dims(t, c.dims), AlignedIndex: c.aligned, Padding: PadAsPreset})
		require.NoError(t, err)
		assert.Equal(t, c.strides, p.Strides, "%+v", c)
		assert.Equal(t, c.offset, p.Offset, "%+v", c)
		assert.Equal(t, c.aligned2, p.ByteAlignment, "%+v", c)
	}
}

func TestPaddingAndAlignmentAreTwoSwitches(t *testing.T) {
	base := Spec{Shape: []int64{5, 7}, ItemSize: 8, Preset: preset(t, "gtmc"), AlignedIndex: []int64{1, 2}}
	for padding, want := range map[int64]int64{PadAsPreset: 8, 0: 5, 1: 5, 3: 6, PadToBoundary: 8} {
		s := base
		s.Padding = padding
		p, err := NewPlan(&s)
		require.NoError(t, err)
		assert.Equal(t, want, p.PaddedShape[0], "padding %d", padding)
		at := p.Offset + 1*p.Strides[0] + 2*p.Strides[1]
		assert.Zero(t, at%p.ByteAlignment, "padding %d", padding)
	}
}

func TestSubShapeIndicesBecomeDataDimensions(t *testing.T) {
	s := Spec{Shape: []int64{4, 5, 2}, SubShape: 1, ItemSize: 8, Preset: preset(t, "gt:cpu_kfirst"), AlignedIndex: []int64{1, 1}, Padding: PadAsPreset}
	p, err := NewPlan(&s)
	require.NoError(t, err)
	assert.Equal(t, "IJ0", DimsString(p.Dims))
	assert.Equal(t, []int64{40, 8, 160}, p.Strides)
	s.Layout = []int32{1, 0}
	p, err = NewPlan(&s)
	require.NoError(t, err)
	assert.Equal(t, []int64{8, 32, 160}, p.Strides)
}

func TestRefusalsNameTheArgument(t *testing.T) {
	c := preset(t, "C")
	for want, s := range map[string]Spec{
		"shape":          {Shape: []int64{-1}, ItemSize: 8, Preset: c},
		"larger than":    {Shape: []int64{1 << 40, 1 << 40}, ItemSize: 8, Preset: c},
		"2^63":           {Shape: []int64{math.MaxInt64}, ItemSize: 1, Preset: c},
		"at most 32":     {Shape: make([]int64, 33), ItemSize: 8, Preset: c},
		"dimensions":     {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, Dims: []Dim{I}},
		"appears twice":  {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, Dims: []Dim{I, I}},
		"layout":         {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, Layout: []int32{0, 0}},
		"one rank":       {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, Layout: []int32{0}},
		"aligned_index":  {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, AlignedIndex: []int64{0}},
		"negative entry": {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, AlignedIndex: []int64{0, -1}},
		"power of two":   {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, ByteAlignment: 48},
		"items":          {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, Alignment: -1},
	} {
		_, err := NewPlan(&s)
		assert.ErrorContains(t, err, want)
	}
}

// Whatever is asked for: elements do not overlap, and the aligned element is aligned.
func TestRandomPlans(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	names := Presets()
	for range 3000 {
		n := rng.Intn(5)
		s := Spec{Device: CPU, ItemSize: int64(1 + rng.Intn(24)), Preset: preset(t, names[rng.Intn(len(names))]), Padding: int64(rng.Intn(8) - 2),
			ByteAlignment: 1 << rng.Intn(14), Shape: make([]int64, n), AlignedIndex: make([]int64, n)}
		for i := range n {
			s.Shape[i], s.AlignedIndex[i] = int64(rng.Intn(6)), int64(rng.Intn(9))
		}
		p, err := NewPlan(&s)
		require.NoError(t, err)
		at := p.Offset
		end := p.ItemSize
		for i := range n {
			at += s.AlignedIndex[i] * p.Strides[i]
			end += max(s.Shape[i]-1, 0) * p.Strides[i]
			if r := int(p.Layout[i]); r < n-1 { // a slower index steps over all of the next faster one
				for j := range n {
					if int(p.Layout[j]) == r+1 {
						assert.GreaterOrEqual(t, p.Strides[i], p.Strides[j]*max(p.PaddedShape[j], 1))
					}
				}
			}
		}
		assert.Zero(t, at%p.ByteAlignment)
		assert.LessOrEqual(t, end, p.Span)
		assert.Greater(t, p.AllocBytes, p.Span)
		b, err := New(p)
		require.NoError(t, err)
		assert.Zero(t, (uintptr(b.Data())-uintptr(p.Offset))%uintptr(p.ByteAlignment))
		for i := range b.Bytes() {
			b.Bytes()[i] = 0xa5
		}
		b.Free()
	}
}

func TestDescribe(t *testing.T) {
	p, err := Describe([]int64{4, 3}, []int64{8, 64}, nil, 8, 0x1040)
	require.NoError(t, err)
	assert.Equal(t, []int32{1, 0}, p.Layout)
	assert.Equal(t, []int64{8, 3}, p.PaddedShape)
	assert.Equal(t, int64(64), p.ByteAlignment)
	assert.Equal(t, int64(96), p.Bytes)
}
