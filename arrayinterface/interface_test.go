package arrayinterface

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
)

func float64s(change func(*Interface)) Interface {
	d := Interface{Shape: []int64{3, 4}, Typestr: "<f8", Data: 4096, Version: 3}
	if change != nil {
		change(&d)
	}
	return d
}

func TestParseFillsEverythingIn(t *testing.T) {
	got, err := Parse(float64s(func(d *Interface) { d.ReadOnly = true; d.Descr = []Descr{{Typestr: "<f8"}} }))
	require.NoError(t, err)
	assert.Equal(t, Description{
		Layout: Layout{[]int64{3, 4}, []int64{32, 8}, 8}, Type: Type{Kind: 'f', Order: '<', ItemSize: 8}, Data: 4096, ReadOnly: true,
	}, got)
	assert.True(t, got.CContiguous())
	assert.True(t, got.Aligned())
}

func TestParseTakesEverySoundCase(t *testing.T) {
	for name, d := range map[string]Interface{
		"0-d":                    float64s(func(d *Interface) { d.Shape = nil }),
		"Fortran order":          float64s(func(d *Interface) { d.Strides = []int64{8, 24} }),
		"reversed":               float64s(func(d *Interface) { d.Strides = []int64{-32, -8} }),
		"broadcast":              float64s(func(d *Interface) { d.Shape, d.Strides = []int64{1 << 50}, []int64{0} }),
		"misaligned":             float64s(func(d *Interface) { d.Data++ }),
		"size 0 at address 0":    float64s(func(d *Interface) { d.Shape, d.Data = []int64{3, 0}, 0 }),
		"size 0, wild strides":   float64s(func(d *Interface) { d.Shape, d.Strides = []int64{0, 1 << 40}, []int64{math.MaxInt64, math.MinInt64} }),
		"size 1, wild strides":   float64s(func(d *Interface) { d.Shape, d.Strides = []int64{1, 1}, []int64{math.MaxInt64, math.MinInt64} }),
		"items without bytes":    float64s(func(d *Interface) { d.Typestr = "|V0" }),
		"above 2 GiB":            float64s(func(d *Interface) { d.Shape = []int64{1 << 31} }),
		"a buffer that fits":     float64s(func(d *Interface) { d.Buffer, d.Length, d.Offset = true, 104, 8 }),
		"a buffer from the back": float64s(func(d *Interface) { d.Buffer, d.Length, d.Offset, d.Strides = true, 96, 88, []int64{-32, -8} }),
		"an empty buffer":        float64s(func(d *Interface) { d.Buffer, d.Shape, d.Data = true, []int64{0}, 0 }),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(d)
			assert.NoError(t, err)
		})
	}
	got, err := Parse(float64s(func(d *Interface) { d.Buffer, d.Length, d.Offset = true, 104, 8 }))
	require.NoError(t, err)
	assert.EqualValues(t, 4104, got.Data)
	got, err = Parse(float64s(func(d *Interface) { d.Data++ }))
	require.NoError(t, err)
	assert.False(t, got.Aligned())
	got, err = Parse(float64s(func(d *Interface) { d.Shape, d.Strides = []int64{3, 1, 4}, []int64{32, 7, 8} }))
	require.NoError(t, err)
	assert.True(t, got.CContiguous(), "strides of a size of 1 do not count")
	assert.True(t, got.Aligned())
}

func TestParseRefuses(t *testing.T) {
	for want, d := range map[string]Interface{
		"version: 2; only 3 is read":                                    float64s(func(d *Interface) { d.Version = 2 }),
		"mask: masked arrays are not taken":                             float64s(func(d *Interface) { d.Mask = true }),
		"typestr: \"\" is too short":                                    float64s(func(d *Interface) { d.Typestr = "" }),
		"descr: the fields take 4 bytes":                                float64s(func(d *Interface) { d.Typestr, d.Descr = "|V8", []Descr{{Name: "a", Typestr: "<f4"}} }),
		"shape: 33 dimensions; at most 32":                              float64s(func(d *Interface) { d.Shape = make([]int64, 33) }),
		"shape: entry 1 is -4":                                          float64s(func(d *Interface) { d.Shape[1] = -4 }),
		"shape: [4294967296 4294967296] of 8-byte":                      float64s(func(d *Interface) { d.Shape = []int64{1 << 32, 1 << 32} }),
		"shape: [4611686018427387904 0] of 8-byte":                      float64s(func(d *Interface) { d.Shape = []int64{1 << 62, 0} }),
		"strides: 1 entries for a shape of 2 dimensions":                float64s(func(d *Interface) { d.Strides = []int64{8} }),
		"strides: 0 entries for a shape of 2 dimensions":                float64s(func(d *Interface) { d.Strides = []int64{} }),
		"strides: entry 0 (9223372036854775807 bytes) takes 3 elements": float64s(func(d *Interface) { d.Strides = []int64{math.MaxInt64, 8} }),
		"strides: entry 1 (-9223372036854775808 bytes)":                 float64s(func(d *Interface) { d.Strides = []int64{8, math.MinInt64} }),
		"strides: elements from -8224 to 8 bytes":                       float64s(func(d *Interface) { d.Strides = []int64{-4100, -8} }),
		"leave the address space":                                       float64s(func(d *Interface) { d.Data = math.MaxUint64 - 8 }),
		"data: the address is 0":                                        float64s(func(d *Interface) { d.Data = 0 }),
		"offset: 8; one is allowed only where":                          float64s(func(d *Interface) { d.Offset = 8 }),
		"offset: -1; the buffer has 96 bytes":                           float64s(func(d *Interface) { d.Buffer, d.Length, d.Offset = true, 96, -1 }),
		"offset: 97; the buffer has 96 bytes":                           float64s(func(d *Interface) { d.Buffer, d.Length, d.Offset = true, 96, 97 }),
		"data: the elements reach from 0 to 96 bytes around offset 8":   float64s(func(d *Interface) { d.Buffer, d.Length, d.Offset = true, 96, 8 }),
		"data: the elements reach from -88 to 8 bytes around offset 80": float64s(func(d *Interface) {
			d.Buffer, d.Length, d.Offset, d.Strides = true, 96, 80, []int64{-32, -8}
		}),
	} {
		_, err := Parse(d)
		assert.ErrorContains(t, err, want)
	}
}

func TestDescribeLeavesOutStridesOfCOrder(t *testing.T) {
	for _, d := range []Interface{
		float64s(nil),
		float64s(func(d *Interface) { d.Strides = []int64{8, 24} }),
		float64s(func(d *Interface) { d.Shape, d.ReadOnly = []int64{0, 3}, true }),
		float64s(func(d *Interface) { d.Typestr, d.Descr = "|V8", []Descr{{Typestr: "|V4"}, {Name: "a", Typestr: "<f4"}} }),
	} {
		parsed, err := Parse(d)
		require.NoError(t, err)
		back, err := Describe(parsed)
		require.NoError(t, err)
		assert.Equal(t, d, back)
	}
	_, err := Describe(Description{Layout: Layout{Shape: []int64{0}, Strides: []int64{8}, ItemSize: 8}})
	assert.ErrorContains(t, err, "data: the address is 0")
}

func TestDescribePlan(t *testing.T) {
	plan := &alloc.Plan{Shape: []int64{4, 4}, Strides: []int64{4, 16}, ItemSize: 4, Device: alloc.CPU}
	_, err := DescribePlan(plan, Type{Kind: 'f', Order: '<', ItemSize: 8}, 4096)
	assert.ErrorContains(t, err, "dtype: items of <f8 take 8 bytes, those of the plan 4")
	plan.Device = alloc.GPU
	_, err = DescribePlan(plan, Type{Kind: 'f', Order: '<', ItemSize: 4}, 4096)
	assert.ErrorContains(t, err, "device: the plan's memory is on the GPU")
}
