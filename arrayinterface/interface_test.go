package arrayinterface

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
	"gridbuf/internal/native"
)

func float64s(change func(*Interface)) Interface {
	d := Interface{Shape: []int64{3, 4}, Typestr: "<f8", Data: 4096, Version: 3}
	if change != nil {
		change(&d)
	}
	return d
}

func TestParseFillsEverythingIn(t *testing.T) {
	got, err := Parse(float64s(func(d *Interface) { d.ReadOnly = true }))
	require.NoError(t, err)
	assert.Equal(t, Description{
		Layout: Layout{[]int64{3, 4}, []int64{32, 8}, 8},
		Type:   Type{Kind: 'f', Order: '<', ItemSize: 8}, Data: 4096, ReadOnly: true,
	}, got)
	assert.True(t, got.CContiguous())
	assert.True(t, got.Aligned())
}

func TestParseTakesEverySoundCase(t *testing.T) {
	for name, d := range map[string]Interface{
		"0-d":           float64s(func(d *Interface) { d.Shape = nil }),
		"Fortran order": float64s(func(d *Interface) { d.Strides = []int64{8, 24} }),
		"reversed":      float64s(func(d *Interface) { d.Strides = []int64{-32, -8} }),
		"broadcast": float64s(func(d *Interface) {
			d.Shape,
				d.Strides = []int64{1 << 50}, []int64{0}
		}),
		"misaligned": float64s(func(d *Interface) { d.Data++ }),
		"size 0 at address 0": float64s(func(d *Interface) {
			d.Shape, d.Data = []int64{3, 0},
				0
		}),
		"size 0, wild strides": float64s(func(d *Interface) {
			d.Shape,
				d.Strides = []int64{0, 1 << 40}, []int64{math.MaxInt64, math.MinInt64}
		}),
		"size 1, wild strides": float64s(func(d *Interface) {
			d.Shape, d.Strides = []int64{1, 1},
				[]int64{math.MaxInt64, math.MinInt64}
		}),
		"above 2 GiB": float64s(func(d *Interface) { d.Shape = []int64{1 << 31} }),
		"a buffer that fits": float64s(func(d *Interface) {
			d.Buffer, d.Length, d.Offset = true,
				104, 8
		}),
		"a buffer from the back": float64s(func(d *Interface) {
			d.Buffer, d.Length, d.Offset,
				d.Strides = true, 96, 88, []int64{-32, -8}
		}),
		"an empty buffer": float64s(func(d *Interface) {
			d.Buffer, d.Shape, d.Data = true,
				[]int64{0}, 0
		}),
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
	got, err = Parse(float64s(func(d *Interface) {
		d.Shape, d.Strides = []int64{3, 1, 4},
			[]int64{32, 7, 8}
	}))
	require.NoError(t, err)
	assert.True(t, got.CContiguous(), "strides of a size of 1 do not count")
	assert.True(t, got.Aligned())
}

// Dictionaries of testdata/refused.jsonl are refused for the reasons there. The extension's tests
// hold it against both doors of Python's objects.
func TestParseRefuses(t *testing.T) {
	table, err := os.ReadFile("testdata/refused.jsonl")
	require.NoError(t, err)
	rows := 0
	for row := range strings.Lines(string(table)) {
		c := refusedDict{Shape: []int64{3, 4}, Typestr: "<f8", Data: 4096, Version: Version}
		require.NoError(t, json.Unmarshal([]byte(row), &c), row)
		if c.Descr != nil {
			continue // the fields of a structure are the extension's
		}
		d := Interface{
			Shape: c.Shape, Strides: c.Strides, Typestr: c.Typestr, Data: c.Data,
			Buffer: c.Buffer != nil, Offset: c.Offset, Mask: c.Mask, Version: c.Version,
		}
		if d.Buffer {
			d.Length = *c.Buffer
		}
		_, err := Parse(d)
		assert.ErrorContains(t, err, c.Why, row)
		rows++
	}
	assert.Greater(t, rows, 50)
	_, err = Parse(float64s(func(d *Interface) { d.Typestr = "<\xff8" }))
	assert.ErrorContains(t, err, "has kind")
	_, err = Parse(float64s(func(d *Interface) {
		d.Buffer, d.Length, d.Offset, d.Data, d.Shape = true, 96, 96, math.MaxUint64-8, []int64{0}
	}))
	assert.ErrorContains(t, err, "offset: 96 bytes from data leave the address space")
}

// refusedDict is a row of testdata/refused.jsonl; what it does not say is sound.
type refusedDict struct {
	Why, Typestr   string
	Shape, Strides []int64
	Descr          []any
	Data           uintptr
	Buffer         *int64
	Offset         int64
	Mask           bool
	Version        int
}

func TestDescribeLeavesOutStridesOfCOrder(t *testing.T) {
	for _, d := range []Interface{
		float64s(nil),
		float64s(func(d *Interface) { d.Strides = []int64{8, 24} }),
		float64s(func(d *Interface) { d.Shape, d.ReadOnly = []int64{0, 3}, true }),
		float64s(func(d *Interface) { d.Typestr = "|V8" }),
	} {
		parsed, err := Parse(d)
		require.NoError(t, err)
		back, err := Describe(parsed)
		require.NoError(t, err)
		assert.Equal(t, d, back)
	}
	_, err := Describe(Description{Layout: Layout{Shape: []int64{0}, Strides: []int64{8},
		ItemSize: 8}})
	assert.ErrorContains(t, err, "data: the address is 0")
}

func TestDescribePlan(t *testing.T) {
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{4, 4}, ItemSize: 4})
	require.NoError(t, err)
	_, err = DescribePlan(plan, Type{Kind: 'f', Order: '<', ItemSize: 8}, 4096)
	assert.ErrorContains(t, err, "dtype: items of <f8 take 8 bytes, those of the plan 4")
	plan, err = alloc.NewPlan(&alloc.Spec{Shape: []int64{4, 4}, ItemSize: 4, Device: alloc.GPU})
	require.NoError(t, err)
	_, err = DescribePlan(plan, Type{Kind: 'f', Order: '<', ItemSize: 4}, 4096)
	assert.ErrorContains(t, err, "device: the plan's memory is on the GPU")
}

func TestAnArrayAsAView(t *testing.T) {
	plan, err := alloc.NewPlan(&alloc.Spec{Shape: []int64{3, 4}, ItemSize: 8})
	require.NoError(t, err)
	b, err := alloc.New(plan)
	require.NoError(t, err)
	defer b.Free()
	for typestr, want := range map[string]alloc.Type{
		"=f8": alloc.Float64, "=i8": alloc.Int64, "=u8": alloc.Uint64, "=c8": alloc.Complex64,
		"!f8": alloc.Raw, "|V8": alloc.Raw, "|S8": alloc.Raw, "=M8[ns]": alloc.Raw,
		"=m8": alloc.Raw,
	} {
		other := map[byte]string{'<': ">", '>': "<"}[native.Order]
		typestr = strings.NewReplacer("=", string(native.Order), "!", other).Replace(typestr)
		d, err := Parse(float64s(func(d *Interface) {
			d.Typestr, d.Data = typestr,
				uintptr(b.Data())
		}))
		require.NoError(t, err, typestr)
		got, err := d.View()
		require.NoError(t, err)
		wanted := alloc.View{Data: b.Data(), Type: want, ItemSize: 8, Shape: []int64{3, 4},
			Strides: []int64{32, 8}}
		assert.Equal(t, wanted, got, typestr)
	}
	_, err = Description{}.View()
	assert.ErrorContains(t, err, "array: Data is nil")
}

func TestParseTypestr(t *testing.T) {
	for s, want := range map[string]Type{
		"<f8":        {Kind: 'f', Order: '<', ItemSize: 8},
		">i2":        {Kind: 'i', Order: '>', ItemSize: 2},
		"|b1":        {Kind: 'b', Order: '|', ItemSize: 1},
		"|u1":        {Kind: 'u', Order: '|', ItemSize: 1},
		"<c16":       {Kind: 'c', Order: '<', ItemSize: 16},
		"<f16":       {Kind: 'f', Order: '<', ItemSize: 16},
		"|V12":       {Kind: 'V', Order: '|', ItemSize: 12},
		"|V0":        {Kind: 'V', Order: '|'},
		"|S5":        {Kind: 'S', Order: '|', ItemSize: 5},
		"<U5":        {Kind: 'U', Order: '<', ItemSize: 20},
		">U2":        {Kind: 'U', Order: '>', ItemSize: 8},
		"<M8":        {Kind: 'M', Order: '<', ItemSize: 8},
		"<M8[ns]":    {Kind: 'M', Order: '<', ItemSize: 8, Unit: "ns"},
		"<m8[25us]":  {Kind: 'm', Order: '<', ItemSize: 8, Unit: "25us"},
		">M8[D]":     {Kind: 'M', Order: '>', ItemSize: 8, Unit: "D"},
		"|V99999999": {Kind: 'V', Order: '|', ItemSize: 99999999},
	} {
		got, err := ParseTypestr(s)
		require.NoError(t, err, s)
		assert.Equal(t, want, got, s)
		assert.Equal(t, s, got.Typestr())
	}
	for s, canonical := range map[string]string{"<b1": "|b1", ">i1": "|i1", "<S5": "|S5",
		"<M8[1ns]": "<M8[ns]"} {
		got, err := ParseTypestr(s)
		require.NoError(t, err, s)
		assert.Equal(t, canonical, got.Typestr())
	}
}

// The units of all lengths, with and without a multiple.
func TestUnits(t *testing.T) {
	for _, unit := range []string{"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs",
		"as"} {
		for given, want := range map[string]string{unit: unit, "1" + unit: unit,
			"12" + unit: "12" + unit, "2147483647" + unit: "2147483647" + unit} {
			got, err := ParseTypestr("<m8[" + given + "]")
			require.NoError(t, err)
			assert.Equal(t, want, got.Unit)
		}
	}
}

func TestTypeProperties(t *testing.T) {
	alignment := func(s string) int64 {
		got, err := ParseTypestr(s)
		require.NoError(t, err)
		return got.Alignment()
	}
	assert.EqualValues(t, 8, alignment("<f8"))
	assert.EqualValues(t, 8, alignment("<c16"))
	assert.EqualValues(t, 4, alignment("<U7"))
	assert.EqualValues(t, 1, alignment("|S7"))
	swapped := Type{Kind: 'f', Order: '<' + '>' - native.Order, ItemSize: 8}
	assert.True(t, swapped.Swapped())
	assert.False(t, Type{Kind: 'V', Order: '|', ItemSize: 8}.Swapped())
}
