package arrayinterface

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/internal/native"
)

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
	for s, canonical := range map[string]string{"<b1": "|b1", ">i1": "|i1", "<S5": "|S5", "<M8[1ns]": "<M8[ns]"} {
		got, err := ParseTypestr(s)
		require.NoError(t, err, s)
		assert.Equal(t, canonical, got.Typestr())
	}
}

// The units of all lengths, with and without a multiple.
func TestUnits(t *testing.T) {
	for _, unit := range []string{"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"} {
		for given, want := range map[string]string{unit: unit, "1" + unit: unit, "12" + unit: "12" + unit, "2147483647" + unit: "2147483647" + unit} {
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
	assert.True(t, Type{Kind: 'V', Order: '|', ItemSize: 8, Fields: []Field{{Name: "a", Type: swapped}}}.Swapped())
	assert.False(t, Type{Kind: 'V', Order: '|', ItemSize: 8}.Swapped())
}

// NumPy's own descr of np.dtype([('a','i1'),('b','f8'),('c','i2')], align=True).
func TestDescrBothWays(t *testing.T) {
	list := []Descr{
		{Name: "a", Typestr: "|i1"}, {Typestr: "|V7"}, {Name: "b", Typestr: "<f8"},
		{Title: "wind", Name: "c", Typestr: "<i2", Shape: []int64{2, 3}}, {Typestr: "|V4"},
		{Name: "n", Nested: []Descr{{Name: "x", Typestr: "<f4"}, {Name: "v", Typestr: "|V4"}}},
	}
	got, err := ParseType("|V40", list)
	require.NoError(t, err)
	var offsets []int64
	for _, f := range got.Fields {
		offsets = append(offsets, f.Offset)
	}
	assert.Equal(t, []int64{0, 8, 16, 32}, offsets)
	assert.EqualValues(t, 8, got.Alignment())
	back, err := got.Descr()
	require.NoError(t, err)
	assert.Equal(t, list, back)
}

func TestFieldsThatNoDescrCanSay(t *testing.T) {
	overlapping := Type{Kind: 'V', Order: '|', ItemSize: 8, Fields: []Field{
		{Name: "a", Type: Type{Kind: 'f', Order: '<', ItemSize: 8}}, {Name: "b", Type: Type{Kind: 'f', Order: '<', ItemSize: 4}, Offset: 4}}}
	_, err := overlapping.Descr()
	assert.ErrorContains(t, err, "field b begins at byte 4, before the end of the one before it at 8")
}

// A plain type comes with a descr of one nameless entry, which says nothing more.
func TestDescrOfAPlainType(t *testing.T) {
	got, err := ParseType("<f8", []Descr{{Typestr: "<f8"}})
	require.NoError(t, err)
	assert.Nil(t, got.Fields)
	got, err = ParseType("|V12", []Descr{{Typestr: "|V12"}})
	require.NoError(t, err)
	assert.Nil(t, got.Fields)
}
