package dlpack

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/internal/native"
)

func TestTypesOfNumPy(t *testing.T) {
	cases := []struct {
		kind byte
		size int64
		want DataType
		name string
	}{
		{'b', 1, DataType{Bool, 8, 1}, "bool"},
		{'i', 1, DataType{Int, 8, 1}, "int8"}, {'i', 2, DataType{Int, 16, 1}, "int16"},
		{'i', 4, DataType{Int, 32, 1}, "int32"}, {'i', 8, DataType{Int, 64, 1}, "int64"},
		{'u', 1, DataType{UInt, 8, 1}, "uint8"}, {'u', 8, DataType{UInt, 64, 1}, "uint64"},
		{'f', 2, DataType{Float, 16, 1}, "float16"}, {'f', 4, DataType{Float, 32, 1}, "float32"},
		{'f', 8, DataType{Float, 64, 1}, "float64"},
		{'c', 8, DataType{Complex, 64, 1}, "complex64"}, {'c', 16, DataType{Complex, 128, 1},
			"complex128"},
	}
	for _, c := range cases {
		got, err := TypeOf(c.kind, c.size)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
		assert.Equal(t, c.name, got.String())
		assert.Equal(t, c.size, got.ItemSize())
		assert.Equal(t, c.kind, got.Kind())

		order := native.Order
		if c.size == 1 {
			order = '|'
		}
		got, err = TypeOfTypestr(fmt.Sprintf("%c%c%d", order, c.kind, c.size))
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}

func TestTypesOfMLDtypes(t *testing.T) {
	for name, want := range extended {
		got, err := TypeNamed(name)
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Equal(t, name, got.String())
		assert.Equal(t, byte('V'), got.Kind())
		assert.EqualValues(t, (want.Bits+7)/8, got.ItemSize())
	}
	_, err := TypeNamed("int4")
	assert.ErrorContains(t, err, `"int4"`)
}

func TestTypesThatHaveNone(t *testing.T) {
	for typestr, want := range map[string]string{
		"|V12":                  `kind 'V' has no DLPack type`,
		"<U5":                   `kind 'U' has no DLPack type`,
		"|S5":                   `kind 'S' has no DLPack type`,
		"|O8":                   `kind 'O' has no DLPack type`,
		"<M8[ns]":               `"<M8[ns]" has no DLPack type`,
		"<f16":                  `kind 'f' with 16 bytes`,
		"<c32":                  `kind 'c' with 32 bytes`,
		"<f0":                   `kind 'f' with 0 bytes`,
		"<f-8":                  `"<f-8" has no DLPack type`,
		"<i3":                   `kind 'i' with 3 bytes`,
		"|b2":                   `kind 'b' with 2 bytes`,
		"f8":                    `no typestr`,
		"":                      `no typestr`,
		"ff8":                   `begins with no byte order`,
		"|f8":                   `begins with no byte order`,
		"<f9999999999999999999": `has no DLPack type`,
	} {
		_, err := TypeOfTypestr(typestr)
		assert.ErrorContains(t, err, want, typestr)
	}
	swapped := byte('<' + '>' - native.Order)
	_, err := TypeOfTypestr(string(swapped) + "f8")
	assert.ErrorContains(t, err, "byte-swapped")
	assert.Equal(t, "code 3, 64 bits, 1 lanes", DataType{3, 64, 1}.String())
}
