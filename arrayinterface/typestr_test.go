package arrayinterface

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestParseTypestrRefuses(t *testing.T) {
	for s, want := range map[string]string{
		"":                      "is too short",
		"f8":                    `begins with 'f'`,
		"=f8":                   `begins with '='`,
		"|O":                    "holds Python objects",
		"|O8":                   "holds Python objects",
		"|t1":                   "has kind 't'",
		"<x8":                   "has kind 'x'",
		"<\xff8":                "has kind",
		"|f8":                   "does not say its byte order",
		"<f":                    `has size ""`,
		"<f08":                  `has size "08"`,
		"<f+8":                  `has size "+8"`,
		"<f-8":                  `has size "-8"`,
		"<f 8":                  `has size " 8"`,
		"<f8 ":                  `has size "8 "`,
		"<f3":                   "has size 3; kind f can have [2 4 8 16] bytes",
		"|b2":                   "has size 2; kind b can have [1]",
		"<M4[ns]":               "has size 4; kind M can have [8]",
		"|V9223372036854775808": "has size",
		"<U4611686018427387904": "larger than any memory",
		"<f8[ns]":               "has a unit",
		"<M8[ns":                `has unit "ns"`,
		"<M8[]":                 `has unit ""`,
		"<M8[weeks]":            `has unit "weeks"`,
		"<M8[25]":               `has unit "25"`,
		"<M8[025us]":            `has unit "025us"`,
		"<M8[99999999999ns]":    `has unit "99999999999ns"`,
		"<M8[ns]]":              `has unit "ns]"`,
	} {
		_, err := ParseTypestr(s)
		assert.ErrorContains(t, err, want, s)
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
	swapped := Type{Kind: 'f', Order: '<' + '>' - Native, ItemSize: 8}
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

func TestDescrRefuses(t *testing.T) {
	deep := []Descr{{Name: "a", Typestr: "|i1"}}
	for range 20 {
		deep = []Descr{{Name: "a", Nested: deep}}
	}
	for want, list := range map[string][]Descr{
		"the fields take 8 bytes; typestr says 12":     {{Name: "a", Typestr: "<f8"}, {Name: "b", Nested: []Descr{}}},
		`entry 1 has name "a"`:                         {{Name: "a", Typestr: "<f8"}, {Name: "a", Typestr: "<f4"}},
		`entry 1 has name ""`:                          {{Name: "a", Typestr: "<f8"}, {Typestr: "<f4"}},
		`field "a": typestr: "f8"`:                     {{Name: "a", Typestr: "f8"}, {}},
		`field "a": shape [-1] has a negative entry`:   {{Name: "a", Typestr: "<f8", Shape: []int64{-1}}, {}},
		`field "a": shape [4294967296 4294967296] has`: {{Name: "a", Typestr: "<f8", Shape: []int64{1 << 32, 1 << 32}}, {}},
		"larger than any memory":                       {{Name: "a", Typestr: "|V9223372036854775807"}, {Name: "b", Typestr: "|i1"}},
		"more than 16 structured types":                append(deep, Descr{Typestr: "|V1"}),
	} {
		_, err := ParseType("|V12", list)
		assert.ErrorContains(t, err, want)
	}
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
