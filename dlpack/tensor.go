package dlpack

// #include "dlpack.h"
// #include "tensor.h"
import "C"

import (
	"fmt"
	"math/bits"
	"strconv"

	"gridbuf/alloc"
	"gridbuf/internal/handle"
	"gridbuf/internal/native"
)

// Version is the version of DLPack a managed tensor was made for.
type Version struct{ Major, Minor uint32 }

// Flags say more about a versioned tensor.
type Flags uint64

// The flags of DLPack 1.3.
const (
	ReadOnly      Flags = C.DLPACK_FLAG_BITMASK_READ_ONLY
	IsCopied      Flags = C.DLPACK_FLAG_BITMASK_IS_COPIED
	SubBytePadded Flags = C.DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
)

// Tensor describes memory: what is exported, and what an import was found to be.
type Tensor struct {
	Data     uintptr // the first element
	Device   Device
	DataType DataType
	Shape    []int64
	Strides  []int64 // bytes; nil: C order
	Flags    Flags
}

// Size is the number of elements.
func (t *Tensor) Size() int64 {
	size := int64(1)
	for _, n := range t.Shape {
		size *= n
	}
	return size
}

// Aligned reports whether every element sits on a multiple of its size, up to 16
// bytes, as ordinary loads want it. A complex number needs only what its parts need.
func (t *Tensor) Aligned() bool {
	to := t.DataType.ItemSize()
	if t.DataType.Code == Complex {
		to /= 2
	}
	low := uint64(t.Data)
	for i, s := range t.Strides[:min(len(t.Strides), len(t.Shape))] {
		if t.Shape[i] > 1 {
			low |= uint64(s)
		}
	}
	return t.Size() == 0 || int64(1)<<min(bits.TrailingZeros64(low), 62) >= to
}

// View is the tensor as copies, sums and kernels take it; memory that the host cannot read is
// refused. Flags says whether it may be written.
func (t *Tensor) View() (alloc.View, error) {
	if !t.Device.Type.OnHost() {
		return alloc.View{}, alloc.ErrInvalid.Errorf("device: %s is no memory of the host",
			t.Device)
	}
	size := t.DataType.ItemSize()
	if size == 0 {
		return alloc.View{}, alloc.ErrInvalid.Errorf("dtype: %s cannot be read", t.DataType)
	}
	strides := t.Strides
	if strides == nil {
		strides = make([]int64, len(t.Shape))
		step := size
		for i := len(t.Shape) - 1; i >= 0; i-- {
			strides[i] = step
			step *= max(t.Shape[i], 1)
		}
	}
	v := alloc.View{
		Data: handle.Pointer(t.Data), Type: t.DataType.Element(), ItemSize: size, Shape: t.Shape,
		Strides: strides,
	}
	return v, v.Check("tensor")
}

// Code is the kind of number an item is, with DLPack's numbers.
type Code uint8

// The codes that NumPy or ml_dtypes has a type for.
const (
	Int            Code = C.kDLInt
	UInt           Code = C.kDLUInt
	Float          Code = C.kDLFloat
	BFloat         Code = C.kDLBfloat
	Complex        Code = C.kDLComplex
	Bool           Code = C.kDLBool
	Float8E3M4     Code = C.kDLFloat8_e3m4
	Float8E4M3     Code = C.kDLFloat8_e4m3
	Float8E4M3B11  Code = C.kDLFloat8_e4m3b11fnuz
	Float8E4M3FN   Code = C.kDLFloat8_e4m3fn
	Float8E4M3FNUZ Code = C.kDLFloat8_e4m3fnuz
	Float8E5M2     Code = C.kDLFloat8_e5m2
	Float8E5M2FNUZ Code = C.kDLFloat8_e5m2fnuz
	Float8E8M0FNU  Code = C.kDLFloat8_e8m0fnu
	Float6E2M3FN   Code = C.kDLFloat6_e2m3fn
	Float6E3M2FN   Code = C.kDLFloat6_e3m2fn
	Float4E2M1FN   Code = C.kDLFloat4_e2m1fn
)

// DataType is the type of an item, in native byte order.
type DataType struct {
	Code  Code
	Bits  uint8
	Lanes uint16
}

// extended are the types of ml_dtypes under the names it gives them. The sub-byte
// ones are held one to a byte, which DLPack calls padded.
var extended = map[string]DataType{}

// kindCodes are the codes of NumPy's kinds of numbers.
var kindCodes = map[byte]Code{}

func init() {
	for _, e := range C.gb_dlpack_extended_types {
		extended[C.GoString(e.name)] = DataType{Code: Code(e.dtype.code), Bits: uint8(e.dtype.bits),
			Lanes: uint16(e.dtype.lanes)}
	}
	for t := C.int(C.GB_BOOL); t < C.GB_TYPES; t++ {
		if dtype := C.gb_dlpack_type_of(t); dtype.bits != 0 {
			kindCodes[byte(C.gb_type_kind(t))] = Code(dtype.code)
		}
	}
}

// TypeOf maps NumPy's kind character and item size in bytes.
func TypeOf(kind byte, itemSize int64) (DataType, error) {
	code, ok := kindCodes[kind]
	if !ok {
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: kind %q has no DLPack type; "+
			"exportable are b, i, u, f and c, and the types of ml_dtypes by name", kind)
	}
	if itemSize < 1 || itemSize > 16 {
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: kind %q with %d bytes has no DLPack "+
			"type", kind, itemSize)
	}
	t := DataType{code, uint8(itemSize * 8), 1}
	if t.ItemSize() == 0 {
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: kind %q with %d bytes has no DLPack "+
			"type", kind, itemSize)
	}
	return t, nil
}

// TypeNamed maps the name of an ml_dtypes type, such as "bfloat16".
func TypeNamed(name string) (DataType, error) {
	t, ok := extended[name]
	if !ok {
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: %q is no type of ml_dtypes that "+
			"DLPack 1.3 has", name)
	}
	return t, nil
}

// TypeOfTypestr maps a typestr of the array interface, such as "<f8". Structured,
// text, date and byte-swapped types have no DLPack type.
func TypeOfTypestr(typestr string) (DataType, error) {
	if len(typestr) < 3 {
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: %q is no typestr such as <f8", typestr)
	}
	size, err := strconv.ParseUint(typestr[2:], 10, 31)
	if err != nil {
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: %q has no DLPack type", typestr)
	}
	t, err := TypeOf(typestr[1], int64(size))
	if err != nil {
		return t, err
	}
	switch order := typestr[0]; {
	case order == '|' && size == 1, order == native.Order:
		return t, nil
	case order == '<' || order == '>':
		if size == 1 {
			return t, nil
		}
		return DataType{}, alloc.ErrInvalid.Errorf("dtype: %q is byte-swapped; DLPack knows "+
			"native byte order only: convert to %c%s first", typestr, native.Order, typestr[1:])
	}
	return DataType{}, alloc.ErrInvalid.Errorf("dtype: %q begins with no byte order; %c%s is "+
		"meant in native order", typestr, native.Order, typestr[1:])
}

// Element is the type that copies and kernels know: Raw for those of ml_dtypes, which are moved.
func (t DataType) Element() alloc.Type {
	if t.Lanes != 1 {
		return alloc.Raw
	}
	return alloc.Type(C.gb_dlpack_number(t.c()))
}

// ItemSize is the bytes an item takes, or 0 for a type that cannot be read.
func (t DataType) ItemSize() int64 {
	return int64(C.gb_dlpack_itemsize(t.c(), 1))
}

func (t DataType) c() C.DLDataType {
	return C.DLDataType{code: C.uint8_t(t.Code), bits: C.uint8_t(t.Bits),
		lanes: C.uint16_t(t.Lanes)}
}

// subByte reports whether items are padded to a byte, which a flag has to say.
func (t DataType) subByte() bool { return t.Bits < 8 }

// Kind is NumPy's kind character, or 'V' for the types of ml_dtypes.
func (t DataType) Kind() byte {
	for kind, code := range kindCodes {
		if code == t.Code {
			return kind
		}
	}
	return 'V'
}

// String is the name that NumPy or ml_dtypes has for the type.
func (t DataType) String() string {
	for name, e := range extended {
		if e == t {
			return name
		}
	}
	names := map[Code]string{Int: "int", UInt: "uint", Float: "float", Complex: "complex"}
	if t.Code == Bool && t.Bits == 8 {
		return "bool"
	}
	if name, ok := names[t.Code]; ok && t.ItemSize() > 0 {
		return name + strconv.Itoa(int(t.Bits))
	}
	return fmt.Sprintf("code %d, %d bits, %d lanes", t.Code, t.Bits, t.Lanes)
}

// DeviceType is where memory lives, with DLPack's numbers.
type DeviceType int32

// The device types gridbuf can read. Pinned host memory is exported as CPU and
// managed memory as CPU or CUDA unless the consumer asks for its own type: several
// consumers know only those two.
const (
	CPU         DeviceType = C.kDLCPU
	CUDA        DeviceType = C.kDLCUDA
	CUDAHost    DeviceType = C.kDLCUDAHost
	ROCMHost    DeviceType = C.kDLROCMHost
	CUDAManaged DeviceType = C.kDLCUDAManaged
)

// OnHost reports whether the host can read such memory.
func (t DeviceType) OnHost() bool { return t != CUDA }

func (t DeviceType) String() string {
	switch t {
	case CPU:
		return "cpu"
	case CUDA:
		return "cuda"
	case CUDAHost:
		return "cuda_host"
	case ROCMHost:
		return "rocm_host"
	case CUDAManaged:
		return "cuda_managed"
	}
	return fmt.Sprintf("device type %d", int32(t))
}

// Device is a device type and which of them. The ID is 0 for host memory.
type Device struct {
	Type DeviceType
	ID   int32
}

func (d Device) String() string { return fmt.Sprintf("%s:%d", d.Type, d.ID) }
