package arrayinterface

import (
	"encoding/json"
	"errors"
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

// What testdata/refused.jsonl says is refused, for that reason. The extension's tests hold
// it against both doors of Python's objects.
func TestParseRefuses(t *testing.T) {
	table, err := os.ReadFile("testdata/refused.jsonl")
	require.NoError(t, err)
	rows := 0
	for row := range strings.Lines(string(table)) {
		c := refusedDict{Shape: []int64{3, 4}, Typestr: "<f8", Data: 4096, Version: Version}
		require.NoError(t, json.Unmarshal([]byte(row), &c), row)
		d := Interface{
			Shape: c.Shape, Strides: c.Strides, Typestr: c.Typestr, Data: c.Data, Buffer: c.Buffer != nil, Offset: c.Offset, Mask: c.Mask, Version: c.Version,
		}
		if d.Buffer {
			d.Length = *c.Buffer
		}
		for _, entry := range c.Descr {
			d.Descr = append(d.Descr, Descr(entry))
		}
		_, err := Parse(d)
		assert.ErrorContains(t, err, c.Why, row)
		rows++
	}
	assert.Greater(t, rows, 70)
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
	Descr          []refusedField
	Data           uintptr
	Buffer         *int64
	Offset         int64
	Mask           bool
	Version        int
}

type refusedField Descr

// UnmarshalJSON reads [name, type] or [name, type, shape]; a name may be [title, name], a type a list of fields.
func (f *refusedField) UnmarshalJSON(text []byte) error {
	var parts, names []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	if parts[0][0] == '[' {
		if err := errors.Join(json.Unmarshal(parts[0], &names), json.Unmarshal(names[0], &f.Title)); err != nil {
			return err
		}
		parts[0] = names[1]
	}
	var nested []refusedField
	err := json.Unmarshal(parts[0], &f.Name)
	if parts[1][0] != '[' {
		err = errors.Join(err, json.Unmarshal(parts[1], &f.Typestr))
	} else {
		err = errors.Join(err, json.Unmarshal(parts[1], &nested))
		f.Nested = []Descr{}
	}
	for _, n := range nested {
		f.Nested = append(f.Nested, Descr(n))
	}
	if len(parts) > 2 {
		err = errors.Join(err, json.Unmarshal(parts[2], &f.Shape))
	}
	return err
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
		"!f8": alloc.Raw, "|V8": alloc.Raw, "|S8": alloc.Raw, "=M8[ns]": alloc.Raw, "=m8": alloc.Raw,
	} {
		other := map[byte]string{'<': ">", '>': "<"}[native.Order]
		typestr = strings.NewReplacer("=", string(native.Order), "!", other).Replace(typestr)
		d, err := Parse(float64s(func(d *Interface) { d.Typestr, d.Data = typestr, uintptr(b.Data()) }))
		require.NoError(t, err, typestr)
		got, err := d.View()
		require.NoError(t, err)
		wanted := alloc.View{Data: b.Data(), Type: want, ItemSize: 8, Shape: []int64{3, 4}, Strides: []int64{32, 8}}
		assert.Equal(t, wanted, got, typestr)
	}
	_, err = Description{}.View()
	assert.ErrorContains(t, err, "array: Data is nil")
}
