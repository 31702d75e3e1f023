package transfer

import (
	"bytes"
	"math"
	"slices"
	"unsafe"

	"gridbuf/alloc"
)

// place is where an element of a view begins in the memory that the view is cut from.
func place(v alloc.View, memory []byte, index []int64) int64 {
	p := int64(uintptr(v.Data) - uintptr(base(memory)))
	for i, x := range index {
		p += x * v.Strides[i]
	}
	return p
}

// each calls f with every index of a shape.
func each(shape []int64, f func(index []int64)) {
	if slices.Contains(shape, 0) {
		return
	}
	index := make([]int64, len(shape))
	for {
		f(index)
		i := len(shape) - 1
		for ; i >= 0; i-- {
			if index[i]++; index[i] < shape[i] {
				break
			}
			index[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// number reads and writes a number, as a float64.
type number struct {
	read  func(p unsafe.Pointer) float64
	write func(p unsafe.Pointer, value float64)
}

type plainNumber interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func plain[T plainNumber]() number {
	return number{
		func(p unsafe.Pointer) float64 { return float64(*(*T)(p)) },
		func(p unsafe.Pointer, value float64) { *(*T)(p) = T(value) },
	}
}

// The reals, and of which a complex type holds two.
var (
	reals = map[alloc.Type]number{
		alloc.Bool: {
			func(p unsafe.Pointer) float64 { return float64(min(*(*uint8)(p), 1)) },
			func(p unsafe.Pointer, value float64) { *(*bool)(p) = value != 0 },
		},
		alloc.Int8: plain[int8](), alloc.Int16: plain[int16](), alloc.Int32: plain[int32](),
		alloc.Int64: plain[int64](),
		alloc.Uint8: plain[uint8](), alloc.Uint16: plain[uint16](), alloc.Uint32: plain[uint32](),
		alloc.Uint64: plain[uint64](),
		alloc.Float16: {
			func(p unsafe.Pointer) float64 { return fromHalf(*(*uint16)(p)) },
			func(p unsafe.Pointer, value float64) { *(*uint16)(p) = toHalf(value) },
		},
		alloc.Float32: plain[float32](), alloc.Float64: plain[float64](),
	}
	realOf = map[alloc.Type]alloc.Type{alloc.Complex64: alloc.Float32,
		alloc.Complex128: alloc.Float64}
)

// parts are the numbers of an element: its own, or a real and an imaginary one.
func parts(t alloc.Type, element []byte) (number, [][]byte) {
	both := [][]byte{element}
	if one, ok := realOf[t]; ok {
		t, both = one, [][]byte{element[:one.Size()], element[one.Size():]}
	}
	found, ok := reals[t]
	if !ok {
		panic("reals of oracle_test.go lacks " + t.String())
	}
	return found, both
}

// convert is the slow and simple conversion that the kernels are held against: over
// values that every type can hold.
func convert(to, from alloc.Type, element []byte) []byte {
	if to == from {
		return bytes.Clone(element)
	}
	var values [2]float64
	n, both := parts(from, element)
	for i, part := range both {
		values[i] = n.read(unsafe.Pointer(&part[0]))
	}
	return encode(to, values[0], values[1])
}

func encode(to alloc.Type, re, im float64) []byte {
	out := make([]byte, to.Size())
	if to == alloc.Bool && im != 0 {
		re = 1
	}
	values := [2]float64{re, im}
	n, both := parts(to, out)
	for i, part := range both {
		n.write(unsafe.Pointer(&part[0]), values[i])
	}
	return out
}

// sameValue compares elements, any NaN with any other.
func sameValue(kind alloc.Type, a, b []byte) bool {
	n, ofA := parts(kind, a)
	_, ofB := parts(kind, b)
	nan := func(part []byte) bool { return math.IsNaN(n.read(unsafe.Pointer(&part[0]))) }
	for i := range ofA {
		if !slices.Equal(ofA[i], ofB[i]) && (!nan(ofA[i]) || !nan(ofB[i])) {
			return false
		}
	}
	return true
}

// toHalf is exact for the integers and quarters that the tests use.
func toHalf(f float64) uint16 {
	if f == 0 {
		return uint16(math.Float64bits(f) >> 48)
	}
	fraction, exponent := math.Frexp(math.Abs(f))
	half := uint16(exponent+14)<<10 + uint16((2*fraction-1)*1024)
	if f < 0 {
		half |= 0x8000
	}
	return half
}

func fromHalf(h uint16) float64 {
	f := math.Ldexp(1+float64(h&0x3ff)/1024, int(h>>10&31)-15)
	if h>>10&31 == 0 {
		f = math.Ldexp(float64(h&0x3ff), -24)
	}
	if h&0x7fff > 0x7c00 {
		return math.NaN()
	}
	if h&0x8000 != 0 {
		f = -f
	}
	return f
}
