package dlpack

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzImport writes any bytes over a tensor of either flavour, with shape and strides that
// end at a page that must not be touched, and holds the verdict against one worked
// out with numbers that cannot overflow.
func FuzzImport(f *testing.F) {
	p := newProducer(f)
	sound := p.float64s()
	raw := func(v foreignVersioned) []byte {
		return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v))...)
	}
	f.Add(raw(sound), pack(3, 4), pack(4, 1), false)
	f.Add(raw(sound), pack(3, 4), pack(), true)
	sound.tensor.byteOffset, sound.tensor.ndim, sound.flags = 1<<63, 4, 7
	f.Add(raw(sound), pack(1<<31, 1<<31, 0, 1), pack(-1, 1<<60, math.MinInt64, 0), false)
	sound.tensor.ndim, sound.tensor.code, sound.tensor.bits = 32, 17, 4
	f.Add(raw(sound), pack(1, 2, 3, 4, 5, 6, 7, 8), pack(8, 7, 6), false)
	f.Fuzz(func(t *testing.T, bytes, shape, strides []byte, nullStrides bool) {
		var v foreignVersioned
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)), bytes)
		n := 0
		if v.tensor.ndim > 0 && v.tensor.ndim <= 32 {
			n = int(v.tensor.ndim)
		}
		shapes, steps := unpack(shape, n), unpack(strides, n)
		v.tensor.shape, v.tensor.strides = p.lists(shapes, steps)
		if nullStrides {
			v.tensor.strides, steps = 0, nil
		}
		bare := foreignVersioned{major: 1, tensor: v.tensor}
		_, err := ImportLegacy(p.legacy(foreignLegacy{tensor: v.tensor}))
		assert.Equal(t, acceptable(bare, shapes, steps), err == nil, "legacy: %v", err)
		got, err := Import(p.versioned(v))
		assert.Equal(t, acceptable(v, shapes, steps), err == nil, "%v", err)
		if err != nil {
			assert.NotEmpty(t, err.Error())
			return
		}
		assert.Equal(t, shapes, got.Shape)
		again, err := Export(got, Owner{})
		require.NoError(t, err)
		defer again.Free()
		back, err := Import(again)
		require.NoError(t, err)
		if got.Size() == 0 {
			got.Data = 0
		}
		got.Flags |= back.Flags & SubBytePadded
		assert.Equal(t, got, back)
	})
}

// acceptable says what the check should, in unbounded arithmetic.
func acceptable(v foreignVersioned, shape, strides []int64) bool {
	d := v.tensor
	types := map[int32]bool{1: true, 2: true, 3: true, 11: true, 13: true}
	if v.major != 1 || v.flags > 7 || d.ndim < 0 || d.ndim > 32 || !types[d.deviceType] ||
		d.deviceID < 0 || d.lanes != 1 {
		return false
	}
	item := DataType{Code(d.code), d.bits, 1}.ItemSize()
	if item == 0 || d.bits < 8 && v.flags&4 == 0 {
		return false
	}
	fits := func(x *big.Int) bool { return x.IsInt64() }
	size, empty := big.NewInt(item), false
	for _, n := range shape {
		if n < 0 {
			return false
		}
		empty = empty || n == 0
		size.Mul(size, big.NewInt(max(n, 1)))
	}
	if !fits(size) {
		return false
	}
	low, high := big.NewInt(0), big.NewInt(item)
	if strides == nil {
		high.Set(size)
	}
	for i, s := range strides {
		step := new(big.Int).Mul(big.NewInt(s), big.NewInt(item))
		if !fits(step) {
			return false
		}
		span := new(big.Int).Mul(step, big.NewInt(shape[i]-1))
		if empty {
			continue
		}
		if s < 0 {
			low.Add(low, span)
		} else {
			high.Add(high, span)
		}
	}
	if empty {
		return true
	}
	first := new(big.Int).SetUint64(uint64(d.data))
	first.Add(first, new(big.Int).SetUint64(d.byteOffset))
	bottom, top := new(big.Int).Add(first, low), new(big.Int).Add(first, high)
	return d.data != 0 && fits(low) && fits(high) && fits(new(big.Int).Sub(high, low)) &&
		first.IsUint64() && bottom.Sign() >= 0 && top.IsUint64()
}

func pack(list ...int64) []byte {
	var b []byte
	for _, x := range list {
		b = binary.NativeEndian.AppendUint64(b, uint64(x))
	}
	return b
}

// unpack reads n numbers; what is not there is 1, so that short inputs reach the
// later checks.
func unpack(b []byte, n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = 1
		if len(b) >= 8 {
			list[i], b = int64(binary.NativeEndian.Uint64(b)), b[8:]
		}
	}
	return list
}

// Names of types and typestrs are read, or refused without a panic. A name that is read is the
// type's own.
func FuzzTypes(f *testing.F) {
	for _, seed := range []string{
		"float64", "bfloat16", "float8_e4m3fn", "<f8", "|V12", "<c16", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if named, err := TypeNamed(text); err == nil && named.String() != text {
			t.Fatalf("%q is read as %v", text, named)
		}
		if read, err := TypeOfTypestr(text); err == nil && (read.Bits == 0 || read.Lanes == 0) {
			t.Fatalf("%q is read as %v", text, read)
		}
	})
}
