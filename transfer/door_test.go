package transfer

import (
	"context"
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
)

type (
	kelvin  float64
	level   int16
	wet     bool
	wave    complex64
	element []byte
)

// Every kind of number that Go has, as it is and under a name, fills every type of elements with
// what a conversion in Go gives.
func TestFillTakesEveryNumber(t *testing.T) {
	values := []any{
		true, int(3), int8(3), int16(3), int32(3), int64(3), uint(3), uint8(3), uint16(3),
		uint32(3),
		uint64(3), uintptr(3), float32(3), float64(3), complex64(3), complex128(3),
		kelvin(3), level(3), wet(true), wave(3),
	}
	memory := mapped(t, 3*16)
	for _, to := range numbers {
		v := dense(memory, to, 3)
		for _, value := range values {
			clear(memory)
			require.NoError(t, Fill(v, value, Options{}), "%v of %T", to, value)
			want := 3.0
			switch value.(type) {
			case bool, wet:
				want = 1
			}
			for i := range int64(3) {
				got := memory[i*to.Size() : (i+1)*to.Size()]
				assert.Equal(t, encode(to, want, 0), got, "%v of %T", to, value)
			}
		}
		require.NoError(t, Fill(v, element(encode(to, 2, 0)), Options{}))
		assert.Equal(t, encode(to, 2, 0), memory[:to.Size()])
	}
	for value, why := range map[any]string{
		"three": "got string", nil: "got nil", struct{}{}: "got struct {}", &memory: "got *[]uint8",
	} {
		err := Fill(dense(memory, alloc.Float64, 3), value, Options{})
		require.ErrorIs(t, err, alloc.ErrType)
		assert.ErrorContains(t, err, "value: expected a number, or the bytes of an element of "+
			"dst; "+why)
	}
	assert.ErrorContains(t, Fill(dense(memory, alloc.Float64, 3), []byte{1}, Options{}),
		"value: 1 bytes")
	raw := alloc.View{Data: base(memory), Type: alloc.Raw, ItemSize: 8, Shape: []int64{1},
		Strides: []int64{8}}
	assert.ErrorContains(t, Fill(raw, 1, Options{}),
		"value: elements of type int64 do not convert to raw")
}

// Views are checked before an address is used.
func TestViewsThatAreNone(t *testing.T) {
	memory := mapped(t, 64)
	good := dense(memory, alloc.Float64, 2, 3)
	for why, change := range map[string]func(*alloc.View){
		"Data is nil, and shape [2 3] has elements": func(v *alloc.View) { v.Data = nil },
		"unknown element type 77":                   func(v *alloc.View) { v.Type = 77 },
		"unknown element type -1":                   func(v *alloc.View) { v.Type = -1 },
		"2 dimensions and 1 strides":                func(v *alloc.View) { v.Strides = v.Strides[:1] },
		"Shape[1] is -3":                            func(v *alloc.View) { v.Shape = []int64{2, -3} },
		"ItemSize 4; an element of type float64":    func(v *alloc.View) { v.ItemSize = 4 },
		"ItemSize -8; give 0 or more bytes": func(v *alloc.View) {
			v.Type, v.ItemSize = alloc.Raw,
				-8
		},
	} {
		bad := good
		change(&bad)
		for arg, err := range map[string]error{
			"dst: ": Copy(bad, good, Options{}), "src: ": Copy(good, bad, Options{}),
		} {
			require.ErrorIs(t, err, alloc.ErrInvalid)
			assert.ErrorContains(t, err, arg+why)
		}
		assert.ErrorContains(t, Fill(bad, 1, Options{}), "dst: "+why)
	}
	nothing := alloc.View{Type: alloc.Float64, Shape: []int64{0, 3}, Strides: []int64{8, 8}}
	assert.NoError(t, Copy(nothing, nothing, Options{}))
	assert.NoError(t, Fill(nothing, 1, Options{}))
	assert.ErrorContains(t, Fill(alloc.View{Type: alloc.Float64}, 1, Options{}),
		"dst: Data is nil, and shape [] has elements")
}

// Elements that no kernel converts are moved.
func TestLongDoublesAndTimesAreMoved(t *testing.T) {
	for _, kind := range []alloc.Type{alloc.LongDouble, alloc.CLongDouble, alloc.Datetime,
		alloc.Timedelta} {
		memory := mapped(t, int(12*kind.Size()))
		for i := range memory {
			memory[i] = byte(i)
		}
		dst, src := dense(memory[6*kind.Size():], kind, 3, 2), transposed(dense(memory, kind, 2, 3))
		require.NoError(t, Copy(dst, src, Options{}))
		assert.Equal(t, memory[3*kind.Size():4*kind.Size()], memory[7*kind.Size():8*kind.Size()])
		other := dense(memory, alloc.Int64, 3, 2)
		assert.ErrorContains(t, Copy(dst, other, Options{}),
			"src: elements of type int64 do not convert to")
	}
	memory := mapped(t, 16)
	assert.ErrorContains(t, Copy(dense(memory, alloc.Datetime, 2),
		dense(memory, alloc.Timedelta, 2), Options{}),
		"src: elements of type timedelta64 do not convert to datetime64 of dst")
}

// A context that has ended keeps the work from beginning: nothing is written.
func TestACancelledContextIsAskedFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	memory := mapped(t, 8<<10)
	v := dense(memory, alloc.Float64, 1<<10)
	progress := func(float64) { t.Error("nothing is done") }
	opts := Options{Context: ctx, Progress: progress}
	assert.ErrorIs(t, Fill(v, 1.0, opts), context.Canceled)
	assert.ErrorIs(t, Copy(v, dense(mapped(t, 8<<10), alloc.Float64, 1<<10), opts),
		context.Canceled)
	assert.Equal(t, 0.0, math.Float64frombits(*(*uint64)(unsafe.Pointer(&memory[0]))))
}
