package arrayinterface

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/internal/native"
)

// show writes a type in the words of testdata/numpy_formats.py.
func show(t Type) string {
	if t.Fields == nil {
		return t.Typestr()
	}
	var parts []string
	for _, f := range t.Fields {
		shape := ""
		for _, n := range f.Shape {
			shape += fmt.Sprintf("[%d]", n)
		}
		parts = append(parts, fmt.Sprintf("%d:%s%s=%s", f.Offset, f.Name, shape, show(f.Type)))
	}
	return "{" + strings.Join(parts, " ") + "}"
}

func TestParseFormatReadsWhatNumPyReads(t *testing.T) {
	table, err := os.ReadFile("testdata/numpy_formats.txt")
	require.NoError(t, err)
	rows := strings.Split(strings.TrimSpace(string(table)), "\n")
	require.Greater(t, len(rows), 50)
	for _, row := range rows {
		column := strings.Split(row, "\t")
		itemSize, err := strconv.ParseInt(column[1], 10, 64)
		require.NoError(t, err)
		got, err := ParseFormat(column[0], itemSize)
		require.NoError(t, err, row)
		assert.Equal(t, column[2], show(got), row)
		assert.Equal(t, itemSize, got.ItemSize, row)

		written, err := got.Format()
		require.NoError(t, err, row)
		again, err := ParseFormat(written, itemSize)
		require.NoError(t, err, written)
		assert.Equal(t, show(got), show(again), written)
	}
}

func TestFormatOfATypestr(t *testing.T) {
	for typestr, want := range map[string]string{
		"<f8": "d", "<f4": "f", "<f2": "e", "<f16": "g", "|b1": "?", "|i1": "b", "|u1": "B", "<i2": "h", "<u4": "I",
		"<i8": "l", "<u8": "L", "<c8": "Zf", "<c16": "Zd", ">f8": ">d", ">i8": ">q", ">c16": ">Zd", "|S5": "5s",
		"<U5": "5w", ">U5": ">5w", "|V12": "12x",
	} {
		if native.Order == '>' {
			t.Skip("the table is for little-endian machines")
		}
		parsed, err := ParseTypestr(typestr)
		require.NoError(t, err)
		got, err := parsed.Format()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for typestr, want := range map[string]string{
		"<M8[ns]": "<M8[ns] has none in the buffer protocol",
		">f16":    "native order only",
	} {
		parsed, err := ParseTypestr(typestr)
		require.NoError(t, err)
		_, err = parsed.Format()
		assert.ErrorContains(t, err, want)
	}
	_, err := Type{Kind: 'V', ItemSize: 1, Order: '|', Fields: []Field{{Name: "a:b", Type: Type{Kind: 'i', Order: '|', ItemSize: 1}}}}.Format()
	assert.ErrorContains(t, err, "has a colon")
}

func TestParseFormatTakesEitherEndOfAStructure(t *testing.T) {
	for _, itemSize := range []int64{9, 16} { // packed, and as a C compiler pads it
		got, err := ParseFormat("T{d:a:b:b:}", itemSize)
		require.NoError(t, err)
		assert.Equal(t, itemSize, got.ItemSize)
	}
	_, err := ParseFormat("T{d:a:b:b:}", 12)
	assert.ErrorContains(t, err, "it takes 16 bytes, and itemsize says 12")
}

func TestParseFormatRefuses(t *testing.T) {
	for format, want := range map[string]string{
		"":                         "it is empty",
		"d":                        "it takes 8 bytes, and itemsize says 3",
		"O":                        `'O' is not a type`,
		"P":                        `'P' is not a type`,
		"&d":                       `'&' is not a type`,
		"X{}":                      `'X' is not a type`,
		"u":                        `'u' is not a type`,
		"t":                        `'t' is not a type`,
		"d ":                       `' ' is not a type`,
		"Z":                        `'\x00' is not a type`,
		"Zi":                       `'i' is not a type`,
		"Ze":                       `'e' is not a type`,
		">g":                       "'g' has a size in native mode only",
		"=n":                       "'n' has a size in native mode only",
		"T":                        `'T' is not a type`,
		"T{d:a:":                   "T{ is not closed",
		"T{d:a:}}":                 "} closes nothing",
		"}":                        "} closes nothing",
		"d:a":                      "a name ends with a second colon",
		"d::":                      "a name ends with a second colon",
		"T{d:a:d:a:}":              `two fields are named "a"`,
		"(2,3)d":                   "a sub-array is not an item",
		"5d":                       "a sub-array is not an item",
		"(2,)d":                    "a shape such as (2,3) is needed",
		"(":                        "a shape such as (2,3) is needed",
		"(2":                       "a shape such as (2,3) is needed",
		"()d":                      "a shape such as (2,3) is needed",
		"(-1)d":                    "a shape such as (2,3) is needed",
		"99999999999999999999s":    "the number is too large",
		"9223372036854775807w":     "larger than any memory",
		"9223372036854775807xd":    "larger than any memory",
		"(4294967296,4294967296)d": "larger than any memory",
		strings.Repeat("T{", 99):   "more than 16 structures in one another",
		"5":                        `'\x00' is not a type`,
		"<":                        `'\x00' is not a type`,
		"><d":                      `'<' is not a type`,
	} {
		_, err := ParseFormat(format, 3)
		assert.ErrorContains(t, err, want, format)
	}
}
