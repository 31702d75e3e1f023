package arrayinterface

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzTypestr: what is read is written in one way and read back as the same.
func FuzzTypestr(f *testing.F) {
	for _, s := range []string{"<f8", "|b1", ">c16", "|V12", "<M8[25us]", "<m8", "<U5", "|S0",
		"|O8", "<U4611686018427387904"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseTypestr(s)
		if err != nil {
			return
		}
		again, err := ParseTypestr(got.Typestr())
		require.NoError(t, err)
		assert.Equal(t, got, again)
		assert.GreaterOrEqual(t, got.ItemSize, int64(0))
		assert.Positive(t, got.Alignment())
	})
}

// FuzzInterface holds the verdict against one worked out with numbers that cannot
// overflow.
func FuzzInterface(f *testing.F) {
	f.Add("<f8", pack(3, 4), pack(32, 8), true, uint64(4096), false, int64(0), int64(0))
	f.Add("|V12", pack(0, 1<<40), pack(), false, uint64(0), true, int64(0), int64(0))
	f.Add("<c16", pack(1<<31, 1<<30), pack(-16, 1<<62), true, uint64(math.MaxUint64), true,
		int64(1<<62), int64(96))
	f.Fuzz(func(t *testing.T, typestr string, shape, strides []byte, strided bool, data uint64,
		buffer bool, offset, length int64) {
		d := Interface{
			Shape: unpack(shape), Typestr: typestr, Data: uintptr(data), Buffer: buffer,
			Offset: offset, Length: length, Version: 3,
		}
		if strided {
			d.Strides = unpack(strides)
		}
		item, err := ParseTypestr(typestr)
		if err != nil {
			return
		}
		got, err := Parse(d)
		assert.Equal(t, acceptable(d, item.ItemSize), err == nil, "%+v: %v", d, err)
		if err != nil {
			return
		}
		got.Aligned()
		if got.Data == 0 {
			return
		}
		dict, err := Describe(got)
		require.NoError(t, err)
		again, err := Parse(dict)
		require.NoError(t, err)
		if dict.Strides == nil {
			got.Strides = again.Strides // they did not count
		}
		assert.Equal(t, got, again)
	})
}

// acceptable says what Parse should, in unbounded arithmetic.
func acceptable(d Interface, itemSize int64) bool {
	if itemSize == 0 || len(d.Shape) > 32 || d.Strides != nil && len(d.Strides) != len(d.Shape) ||
		!d.Buffer && d.Offset != 0 {
		return false
	}
	size, empty := big.NewInt(itemSize), false
	for _, n := range d.Shape {
		if n < 0 {
			return false
		}
		empty = empty || n == 0
		size.Mul(size, big.NewInt(max(n, 1)))
	}
	if !size.IsInt64() {
		return false
	}
	low, high := new(big.Int), big.NewInt(itemSize)
	if d.Strides == nil {
		high.Set(size)
	}
	for i, s := range d.Strides {
		span := new(big.Int).Mul(big.NewInt(s), big.NewInt(d.Shape[i]-1))
		if s < 0 {
			low.Add(low, span)
		} else {
			high.Add(high, span)
		}
	}
	if empty {
		low, high = new(big.Int), new(big.Int)
	}
	first := new(big.Int).SetUint64(uint64(d.Data))
	if d.Buffer {
		offset := big.NewInt(d.Offset)
		if d.Offset < 0 || d.Offset > d.Length ||
			new(big.Int).Add(offset, low).Sign() < 0 || new(big.Int).Add(offset,
			high).Cmp(big.NewInt(d.Length)) > 0 {
			return false
		}
		first.Add(first, offset)
	}
	if d.Data == 0 && !empty {
		return false
	}
	return new(big.Int).Sub(high, low).IsInt64() && first.IsUint64() &&
		new(big.Int).Add(first, low).Sign() >= 0 && new(big.Int).Add(first, high).IsUint64()
}

func pack(list ...int64) []byte {
	var b []byte
	for _, x := range list {
		b = binary.NativeEndian.AppendUint64(b, uint64(x))
	}
	return b
}

func unpack(b []byte) []int64 {
	list := make([]int64, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		list = append(list, int64(binary.NativeEndian.Uint64(b)))
	}
	return list
}
