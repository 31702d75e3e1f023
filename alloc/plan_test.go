package alloc

import (
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func preset(t *testing.T, name string) *Preset {
	t.Helper()
	p, err := FindPreset(name)
	require.NoError(t, err)
	return p
}

func dims(t *testing.T, s string) []Dim {
	t.Helper()
	d, err := ParseDims(s)
	require.NoError(t, err)
	return d
}

// tests/array/test_presets.py has the table of all presets, which are C; planner_test.go holds the
// planner and its oracle equal.
func TestPresetsOrderByNameWhateverTheIndexOrder(t *testing.T) {
	p, err := NewPlan(&Spec{
		Shape: []int64{2, 3, 4}, Dims: dims(t, "KJI"), Preset: preset(t, "gt:cpu_kfirst"),
	})
	require.NoError(t, err)
	assert.Equal(t, []int32{2, 1, 0}, p.Layout())
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
		{"gt:cpu_ifirst", "IJK", []int64{10, 10, 10}, []int64{1, 1, 0}, []int64{8, 80, 800},
			64 - 88%64, 64},
		{"C", "IJK", []int64{3, 0, 2}, nil, []int64{16, 16, 8}, 0, 64},
		{"C", "", nil, nil, []int64{}, 0, 64},
	}
	for _, c := range cases {
		p, err := NewPlan(&Spec{Shape: c.shape, ItemSize: 8, Preset: preset(t, c.backend),
			Dims: dims(t, c.dims), AlignedIndex: c.aligned, Padding: PadAsPreset})
		require.NoError(t, err)
		assert.Equal(t, c.strides, p.strides, "%+v", c)
		assert.Equal(t, c.offset, p.offset, "%+v", c)
		assert.Equal(t, c.aligned2, p.byteAlignment, "%+v", c)
	}
}

func TestPaddingAndAlignmentAreTwoSwitches(t *testing.T) {
	base := Spec{Shape: []int64{5, 7}, ItemSize: 8, Preset: preset(t, "gtmc"),
		AlignedIndex: []int64{1, 2}}
	for padding, want := range map[int64]int64{PadAsPreset: 8, PadNone: 5, 3: 6, PadToBoundary: 8} {
		s := base
		s.Padding = padding
		p, err := NewPlan(&s)
		require.NoError(t, err)
		assert.Equal(t, want, p.paddedShape[0], "padding %d", padding)
		at := p.offset + 1*p.strides[0] + 2*p.strides[1]
		assert.Zero(t, at%p.byteAlignment, "padding %d", padding)
	}
}

func TestSubShapeIndicesBecomeDataDimensions(t *testing.T) {
	s := Spec{Shape: []int64{4, 5, 2}, SubShape: 1, ItemSize: 8, Preset: preset(t, "gt:cpu_kfirst"),
		AlignedIndex: []int64{1, 1}, Padding: PadAsPreset}
	p, err := NewPlan(&s)
	require.NoError(t, err)
	assert.Equal(t, "IJ0", DimsString(p.dims))
	assert.Equal(t, []int64{40, 8, 160}, p.strides)
	s.Layout = []int32{1, 0}
	p, err = NewPlan(&s)
	require.NoError(t, err)
	assert.Equal(t, []int64{8, 32, 160}, p.strides)
}

func TestRefusalsNameTheArgument(t *testing.T) {
	c := preset(t, "C")
	for want, s := range map[string]Spec{
		"shape":         {Shape: []int64{-1}, ItemSize: 8, Preset: c},
		"larger than":   {Shape: []int64{1 << 40, 1 << 40}, ItemSize: 8, Preset: c},
		"2^63":          {Shape: []int64{math.MaxInt64}, ItemSize: 1, Preset: c},
		"at most 32":    {Shape: make([]int64, 33), ItemSize: 8, Preset: c},
		"dimensions":    {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, Dims: []Dim{I}},
		"appears twice": {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, Dims: []Dim{I, I}},
		"layout":        {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, Layout: []int32{0, 0}},
		"one rank":      {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, Layout: []int32{0}},
		"aligned_index": {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, AlignedIndex: []int64{0}},
		"negative entry": {Shape: []int64{1, 2}, ItemSize: 8, Preset: c,
			AlignedIndex: []int64{0, -1}},
		"power of two":   {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, ByteAlignment: 48},
		"items":          {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, Alignment: -1},
		"padding: -2":    {Shape: []int64{1, 2}, ItemSize: 8, Preset: c, Padding: -2},
		"a sub-shape of": {Shape: []int64{1, 2}, ItemSize: 8, SubShape: 3},
		"sub-shape of -": {Shape: []int64{1, 2}, ItemSize: 8, SubShape: -1},
		"items of -8":    {Shape: []int64{1, 2}, ItemSize: -8},
		"device: 3":      {Shape: []int64{1, 2}, ItemSize: 8, Device: 3},
		"memory: -1":     {Shape: []int64{1, 2}, ItemSize: 8, Memory: -1},
		"order the axes": {Shape: []int64{1, 2}, ItemSize: 8, Preset: &Preset{Axes: "IJJ"}},
		"not the code":   {Shape: []int64{1, 2}, ItemSize: 8, Dims: []Dim{I, -4}},
		"[I I Dim(-9)]":  {Shape: []int64{1, 2, 3}, ItemSize: 8, Dims: []Dim{I, I, -9}},
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
		s := Spec{Device: CPU, ItemSize: int64(1 + rng.Intn(24)),
			Preset: preset(t, names[rng.Intn(len(names))]), Padding: int64(rng.Intn(8) - 1),
			ByteAlignment: 1 << rng.Intn(14), Shape: make([]int64, n),
			AlignedIndex: make([]int64, n)}
		for i := range n {
			s.Shape[i], s.AlignedIndex[i] = int64(rng.Intn(6)), int64(rng.Intn(9))
		}
		p, err := NewPlan(&s)
		require.NoError(t, err)
		at := p.offset
		end := p.itemSize
		for i := range n {
			at += s.AlignedIndex[i] * p.strides[i]
			end += max(s.Shape[i]-1, 0) * p.strides[i]
			// a slower index steps over all of the next faster one
			if r := int(p.layout[i]); r < n-1 {
				for j := range n {
					if int(p.layout[j]) == r+1 {
						assert.GreaterOrEqual(t, p.strides[i],
							p.strides[j]*max(p.paddedShape[j], 1))
					}
				}
			}
		}
		assert.Zero(t, at%p.byteAlignment)
		if p.size == 0 {
			assert.Zero(t, p.span)
		} else {
			assert.LessOrEqual(t, end, p.span)
		}
		assert.Greater(t, p.reserve, p.span)
		b, err := New(p)
		require.NoError(t, err)
		assert.Zero(t, (uintptr(b.Data())-uintptr(p.offset))%uintptr(p.byteAlignment))
		for i := range b.Bytes() {
			b.Bytes()[i] = 0xa5
		}
		b.Free()
	}
}

// The zero value of everything but the shape and the items is the default.
func TestZeroValues(t *testing.T) {
	_, err := NewPlan(nil)
	assert.ErrorContains(t, err, "spec")
	_, err = New(nil)
	assert.ErrorContains(t, err, "plan")
	p, err := NewPlan(&Spec{})
	require.NoError(t, err)
	assert.Equal(t, "Plan( [] of 0 bytes, strides=[], aligned_index=[], byte_alignment=64, 192 "+
		"bytes reserved, cpu)", p.String())
	p, err = NewPlan(&Spec{Shape: []int64{3, 5}, ItemSize: 8})
	require.NoError(t, err)
	assert.Equal(t, []int64{40, 8}, p.strides)
	p, err = NewPlan(&Spec{Shape: []int64{3, 5}, ItemSize: 8, Preset: preset(t, "gt:gpu"),
		DeviceID: 1, Memory: Managed})
	require.NoError(t, err)
	assert.Equal(t, []int64{32, 5}, p.paddedShape, "the rows are padded as the preset says")
	assert.Contains(t, p.String(), "Plan(IJ [3 5] of 8 bytes, strides=[8 256]")
	assert.Contains(t, p.String(), "gpu 1, managed)")
	p, err = NewPlan(&Spec{Shape: []int64{3, 5}, ItemSize: 8, Preset: &Preset{Axes: "KJI"}})
	require.NoError(t, err)
	assert.Equal(t, []int64{8, 24}, p.strides)
	assert.Equal(t, CPU, p.device)
}

func TestTexts(t *testing.T) {
	assert.Equal(t, "Dim(-7)", Dim(-7).String())
	assert.Equal(t, "Device(9)", Device(9).String())
	assert.Equal(t, "by index, reversed Order(9)", fmt.Sprint(ByIndexReversed, Order(9)))
	assert.Equal(t, "Memory(-1) pinned", fmt.Sprint(Memory(-1), " ", Pinned))
}

func TestAnEmptyArrayReservesNothing(t *testing.T) {
	for _, shape := range [][]int64{{0}, {0, 1e8}, {0, 1 << 45}, {1 << 59, 0}, {3, 0, 2}} {
		p, err := NewPlan(&Spec{Shape: shape, ItemSize: 8})
		require.NoError(t, err)
		assert.Zero(t, p.span)
		assert.Zero(t, p.size)
		assert.LessOrEqual(t, p.reserve, int64(256))
	}
	_, err := NewPlan(&Spec{Shape: []int64{0, 1 << 62}, ItemSize: 8})
	assert.ErrorContains(t, err, "larger than any memory", "as NumPy: the strides do not fit")
}

func TestRegister(t *testing.T) {
	first := &Preset{Name: "twice", Axes: "JIK", Alignment: 4}
	require.NoError(t, Register(*first))
	assert.Equal(t, first, preset(t, "twice"))
	require.NoError(t, Register(Preset{Name: "twice", Order: ByIndex, Alignment: 1}))
	assert.Equal(t, &Preset{Name: "twice", Order: ByIndex, Alignment: 1}, preset(t, "twice"))
	for want, p := range map[string]Preset{
		"non-empty":           {Axes: "IJK", Alignment: 1},
		"built-in":            {Name: "gt:gpu", Axes: "IJK", Alignment: 1},
		"\"IJJ\" does not":    {Name: "x", Axes: "IJJ", Alignment: 1},
		"\"\" does not":       {Name: "x", Alignment: 1},
		"0 items":             {Name: "x", Axes: "IJK"},
		"at most 200":         {Name: strings.Repeat("x", 201), Axes: "IJK", Alignment: 1},
		"\"a\\nb\" has a":     {Name: "a\nb", Axes: "IJK", Alignment: 1},
		"\"a\\x00\" has a":    {Name: "a\x00", Axes: "IJK", Alignment: 1},
		"\"\\\"\\\\\\x1b\" h": {Name: "\"\\\x1b", Axes: "IJK", Alignment: 1},
	} {
		assert.ErrorContains(t, Register(p), want)
	}
}

func TestDescribe(t *testing.T) {
	p, err := Describe([]int64{4, 3}, []int64{8, 64}, nil, 8, 0x1040)
	require.NoError(t, err)
	assert.Equal(t, []int32{1, 0}, p.layout)
	assert.Equal(t, []int64{8, 3}, p.paddedShape)
	assert.Equal(t, int64(64), p.byteAlignment)
	assert.Equal(t, int64(96), p.bytes)
}
