package transfer

import (
	"bytes"
	"math"
	"slices"
	"unsafe"
)

// place is where an element of a view begins in the memory that the view is cut from.
func place(v View, memory []byte, index []int64) int64 {
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

// convert is the slow and simple conversion that the kernels are held against: over
// values that every type can hold.
func convert(to, from Type, element []byte) []byte {
	if to == from {
		return bytes.Clone(element)
	}
	p := unsafe.Pointer(&element[0])
	var re, im float64
	switch from {
	case Bool:
		if element[0] != 0 {
			re = 1
		}
	case Int8:
		re = float64(*(*int8)(p))
	case Int16:
		re = float64(*(*int16)(p))
	case Int32:
		re = float64(*(*int32)(p))
	case Int64:
		re = float64(*(*int64)(p))
	case Uint8:
		re = float64(*(*uint8)(p))
	case Uint16:
		re = float64(*(*uint16)(p))
	case Uint32:
		re = float64(*(*uint32)(p))
	case Uint64:
		re = float64(*(*uint64)(p))
	case Float16:
		re = fromHalf(*(*uint16)(p))
	case Float32:
		re = float64(*(*float32)(p))
	case Float64:
		re = *(*float64)(p)
	case Complex64:
		v := *(*complex64)(p)
		re, im = float64(real(v)), float64(imag(v))
	case Complex128:
		v := *(*complex128)(p)
		re, im = real(v), imag(v)
	default:
		panic("convert of oracle_test.go does not read " + from.String())
	}
	return encode(to, re, im)
}

func encode(to Type, re, im float64) []byte {
	out := make([]byte, to.Size())
	p := unsafe.Pointer(&out[0])
	switch to {
	case Bool:
		*(*bool)(p) = re != 0 || im != 0
	case Int8:
		*(*int8)(p) = int8(re)
	case Int16:
		*(*int16)(p) = int16(re)
	case Int32:
		*(*int32)(p) = int32(re)
	case Int64:
		*(*int64)(p) = int64(re)
	case Uint8:
		*(*uint8)(p) = uint8(re)
	case Uint16:
		*(*uint16)(p) = uint16(re)
	case Uint32:
		*(*uint32)(p) = uint32(re)
	case Uint64:
		*(*uint64)(p) = uint64(re)
	case Float16:
		*(*uint16)(p) = toHalf(re)
	case Float32:
		*(*float32)(p) = float32(re)
	case Float64:
		*(*float64)(p) = re
	case Complex64:
		*(*complex64)(p) = complex(float32(re), float32(im))
	case Complex128:
		*(*complex128)(p) = complex(re, im)
	default:
		panic("encode of oracle_test.go does not write " + to.String())
	}
	return out
}

// sameValue compares elements, any NaN with any other.
func sameValue(kind Type, a, b []byte) bool {
	if slices.Equal(a, b) {
		return true
	}
	half := func(p []byte) bool { return (uint16(p[0])|uint16(p[1])<<8)&0x7fff > 0x7c00 }
	single := func(p []byte) bool { return math.IsNaN(float64(*(*float32)(unsafe.Pointer(&p[0])))) }
	double := func(p []byte) bool { return math.IsNaN(*(*float64)(unsafe.Pointer(&p[0]))) }
	part := func(nan func([]byte) bool, a, b []byte) bool { return slices.Equal(a, b) || nan(a) && nan(b) }
	switch kind {
	case Float16:
		return part(half, a, b)
	case Float32:
		return part(single, a, b)
	case Float64:
		return part(double, a, b)
	case Complex64:
		return part(single, a[:4], b[:4]) && part(single, a[4:], b[4:])
	case Complex128:
		return part(double, a[:8], b[:8]) && part(double, a[8:], b[8:])
	}
	return false
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
	if h&0x8000 != 0 {
		f = -f
	}
	return f
}
