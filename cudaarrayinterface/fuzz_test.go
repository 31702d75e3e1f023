package cudaarrayinterface

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/arrayinterface"
)

// FuzzInterface: what is taken keeps the rules of version 3 and survives being
// written and read again; layouts are judged by arrayinterface's fuzz test.
func FuzzInterface(f *testing.F) {
	f.Add("<f8", []byte{3, 0, 0, 0, 0, 0, 0, 0}, []byte{}, false, uint64(4096), false, int64(0), 3)
	f.Add("|V12", []byte{}, []byte{}, true, uint64(0), true, int64(2), 2)
	f.Add("<c8", make([]byte, 16), make([]byte, 16), true, uint64(math.MaxUint64), true, int64(-1),
		-1)
	f.Fuzz(func(t *testing.T, typestr string, shape, strides []byte, strided bool, data uint64,
		hasStream bool, stream int64, version int) {
		d := Interface{
			Shape: unpack(shape), Typestr: typestr, Data: uintptr(data), HasStream: hasStream,
			Stream: stream, Version: version,
		}
		if strided {
			d.Strides = unpack(strides)
		}
		got, err := Parse(d)
		if err != nil {
			assert.NotEmpty(t, err.Error())
			return
		}
		assert.False(t, hasStream && stream <= 0)
		assert.Equal(t, hasStream, got.Stream != NoStream)
		assert.Equal(t, got.Size() == 0, got.Data == 0)
		assert.Len(t, got.Strides, len(got.Shape))
		_, err = arrayinterface.NewLayout(got.Shape, got.Strides, got.ItemSize)
		require.NoError(t, err)
		dict, err := Describe(got)
		require.NoError(t, err)
		assert.Equal(t, Version, dict.Version)
		again, err := Parse(dict)
		require.NoError(t, err)
		if dict.Strides == nil {
			got.Strides = again.Strides // they did not count
		}
		assert.Equal(t, got, again)
	})
}

func unpack(b []byte) []int64 {
	list := make([]int64, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		list = append(list, int64(binary.NativeEndian.Uint64(b)))
	}
	return list
}
