package dlpack

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gridbuf/alloc"
)

func TestForeignStructsHaveTheABIsSizes(t *testing.T) {
	assert.EqualValues(t, 48, unsafe.Sizeof(foreignTensor{}))
	assert.EqualValues(t, 80, unsafe.Sizeof(foreignVersioned{}))
	assert.EqualValues(t, 64, unsafe.Sizeof(foreignLegacy{}))
}

func TestImportReadsTheDescription(t *testing.T) {
	p := newProducer(t)
	v := p.float64s()
	v.flags, v.minor, v.tensor.byteOffset = 3, 9, 24
	m := p.versioned(v)
	got, err := Import(m)
	require.NoError(t, err)
	assert.Equal(t, Tensor{
		Data: 1<<20 + 24, Device: Device{CPU, 0}, DataType: DataType{Float, 64, 1},
		Shape: []int64{3, 4}, Strides: []int64{32, 8}, Flags: ReadOnly | IsCopied,
	}, got)
	assert.Equal(t, Version{1, 9}, m.Version())
	assert.EqualValues(t, 12, got.Size())

	legacy, err := ImportLegacy(p.legacy(foreignLegacy{tensor: v.tensor}))
	require.NoError(t, err)
	got.Flags = 0
	assert.Equal(t, got, legacy)
}

func TestImportTakesEverySoundCase(t *testing.T) {
	p := newProducer(t)
	cases := map[string]struct {
		shape, strides []int64
		change         func(*foreignVersioned)
		want           func(*testing.T, Tensor)
	}{
		"NULL strides are C order": {[]int64{2, 3, 5}, nil,
			func(v *foreignVersioned) { v.tensor.strides = 0 },
			func(t *testing.T, got Tensor) { assert.Equal(t, []int64{120, 40, 8}, got.Strides) }},
		"0-d with NULL lists": {nil, nil,
			func(v *foreignVersioned) { v.tensor.shape, v.tensor.strides = 0, 0 },
			func(t *testing.T, got Tensor) {
				assert.EqualValues(t, 1, got.Size())
				assert.Empty(t,
					got.Shape)
			}},
		"size 0 with NULL data": {[]int64{4, 0}, []int64{math.MaxInt64 / 8, 1},
			func(v *foreignVersioned) { v.tensor.data = 0; v.tensor.byteOffset = 40 },
			func(t *testing.T, got Tensor) {
				assert.Zero(t, got.Size())
				assert.Zero(t,
					got.Data)
			}},
		"size 0 with NULL strides": {[]int64{4, 0, 3}, nil,
			func(v *foreignVersioned) { v.tensor.strides, v.tensor.data = 0, 0 },
			func(t *testing.T, got Tensor) { assert.Equal(t, []int64{24, 24, 8}, got.Strides) }},
		"negative strides": {[]int64{3, 4}, []int64{-4, -1}, nil,
			func(t *testing.T, got Tensor) { assert.Equal(t, []int64{-32, -8}, got.Strides) }},
		"broadcast": {[]int64{1 << 40, 4}, []int64{0, 1}, nil,
			func(t *testing.T, got Tensor) { assert.EqualValues(t, 1<<42, got.Size()) }},
		"any stride where there is one element": {[]int64{1}, []int64{math.MaxInt64 / 8}, nil,
			func(t *testing.T, got Tensor) { assert.EqualValues(t, 1, got.Size()) }},
		"above 2 GiB": {[]int64{1 << 31}, []int64{3}, nil,
			func(t *testing.T, got Tensor) { assert.Equal(t, []int64{24}, got.Strides) }},
		"pinned": {[]int64{1}, []int64{1},
			func(v *foreignVersioned) { v.tensor.deviceType = 3 },
			func(t *testing.T, got Tensor) { assert.True(t, got.Device.Type.OnHost()) }},
		"device memory": {[]int64{1}, []int64{1},
			func(v *foreignVersioned) { v.tensor.deviceType, v.tensor.deviceID = 2, 3 },
			func(t *testing.T, got Tensor) {
				assert.Equal(t, "cuda:3", got.Device.String())
				assert.False(t, got.Device.Type.OnHost())
			}},
		"padded float4": {[]int64{5}, []int64{1},
			func(v *foreignVersioned) { v.tensor.code, v.tensor.bits, v.flags = 17, 4, 4 },
			func(t *testing.T, got Tensor) {
				assert.Equal(t, "float4_e2m1fn",
					got.DataType.String())
			}},
		"misaligned data": {[]int64{5}, []int64{1},
			func(v *foreignVersioned) { v.tensor.byteOffset = 4 },
			func(t *testing.T, got Tensor) { assert.False(t, got.Aligned()) }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			v := p.float64s()
			v.tensor.ndim = int32(len(c.shape))
			v.tensor.shape, v.tensor.strides = p.lists(c.shape, c.strides)
			if c.change != nil {
				c.change(&v)
			}
			got, err := Import(p.versioned(v))
			require.NoError(t, err)
			c.want(t, got)
		})
	}
}

func TestImportRefusesWithTheReason(t *testing.T) {
	p := newProducer(t)
	shape := func(shape, strides []int64) func(*foreignVersioned) {
		return func(v *foreignVersioned) {
			v.tensor.ndim = int32(len(shape))
			v.tensor.shape, v.tensor.strides = p.lists(shape, strides)
		}
	}
	cases := map[string]struct {
		spoil func(*foreignVersioned)
		want  string
	}{
		"major version 0": {func(v *foreignVersioned) { v.major = 0 },
			"version: 0.3; only major version 1 can be read"},
		"major version 2": {func(v *foreignVersioned) { *v = foreignVersioned{major: 2} },
			"version: 2.0; only"},
		"unknown flags": {func(v *foreignVersioned) { v.flags = 1 << 40 },
			"flags: 0x10000000000 has bits"},
		"negative ndim": {func(v *foreignVersioned) { v.tensor.ndim = -1 },
			"ndim: -1; allowed are 0 to 32"},
		"huge ndim": {func(v *foreignVersioned) { v.tensor.ndim = 1 << 30 },
			"ndim: 1073741824; allowed"},
		"device type 0": {func(v *foreignVersioned) { v.tensor.deviceType = 0 },
			"device: type 0 cannot be read"},
		"negative device type": {func(v *foreignVersioned) { v.tensor.deviceType = -7 },
			"device: type -7 cannot be read"},
		"a Metal handle": {func(v *foreignVersioned) { v.tensor.deviceType = 8 },
			"device: type 8 cannot be read"},
		"negative device id": {func(v *foreignVersioned) { v.tensor.deviceID = -1 },
			"device: id -1 is negative"},
		"no lanes": {func(v *foreignVersioned) { v.tensor.lanes = 0 },
			"dtype: 0 lanes; only 1 is allowed"},
		"a vector type": {func(v *foreignVersioned) { v.tensor.lanes = 4 },
			"dtype: 4 lanes; only 1 is allowed"},
		"no bits": {func(v *foreignVersioned) { v.tensor.bits = 0 },
			"dtype: code 2 with 0 bits"},
		"a float of 24 bits": {func(v *foreignVersioned) { v.tensor.bits = 24 },
			"dtype: code 2 with 24 bits"},
		"a long double": {func(v *foreignVersioned) { v.tensor.bits = 128 },
			"dtype: code 2 with 128 bits"},
		"an opaque handle": {func(v *foreignVersioned) { v.tensor.code = 3 },
			"dtype: code 3 with 64 bits"},
		"an unknown code": {func(v *foreignVersioned) { v.tensor.code = 200 },
			"dtype: code 200 with 64 bits"},
		"a bool of 1 bit": {func(v *foreignVersioned) {
			v.tensor.code, v.tensor.bits = 6,
				1
		}, "dtype: code 6 with 1 bits"},
		"packed float4": {func(v *foreignVersioned) {
			v.tensor.code, v.tensor.bits = 17,
				4
		}, "dtype: code 17 packs items of 4 bits"},
		"NULL shape": {func(v *foreignVersioned) { v.tensor.shape = 0 },
			"shape: NULL for 2 dimensions"},
		"misaligned shape": {func(v *foreignVersioned) { v.tensor.shape -= 4 },
			"not aligned to 8 bytes"},
		"misaligned strides": {func(v *foreignVersioned) { v.tensor.strides -= 1 },
			"not aligned to 8 bytes"},
		"negative size": {shape([]int64{3, -4}, []int64{4, 1}),
			"shape: entry 1 is -4; sizes are 0 or more"},
		"negative size and empty": {shape([]int64{0, -4}, []int64{4, 1}), "shape: entry 1 is -4"},
		"too many bytes": {shape([]int64{1 << 31, 1 << 30}, []int64{0, 0}),
			"shape: with entry 1 (1073741824) the tensor has more"},
		"too many though empty": {shape([]int64{1 << 62, 0, 1 << 62}, []int64{0, 0, 0}),
			"shape: with entry 0"},
		"a stride beyond int64": {shape([]int64{3}, []int64{1 << 60}),
			"strides: entry 0 is 1152921504606846976 items of 8 bytes"},
		"a stride of int64's low": {shape([]int64{1}, []int64{math.MinInt64}),
			"strides: entry 0 is -9223372036854775808 items"},
		"a far last element": {shape([]int64{1 << 32}, []int64{1 << 40}),
			"strides: entry 0 (1099511627776 items) takes 4294967296 elements"},
		"strides that add up": {shape([]int64{2, 2}, []int64{1<<59 + 1<<58, 1<<59 + 1<<58}),
			"strides: entry 1"},
		"below address 0": {shape([]int64{1 << 20}, []int64{-1}),
			"leave the address space"},
		"both ways too far": {shape([]int64{2, 2}, []int64{1 << 59, -(1 << 59)}),
			"reach over more than 2^63"},
		"NULL data": {func(v *foreignVersioned) { v.tensor.data = 0 },
			"data: NULL for a tensor that has elements"},
		"NULL data with offset": {func(v *foreignVersioned) {
			v.tensor.data,
				v.tensor.byteOffset = 0, 4096
		}, "data: NULL"},
		"an offset that wraps": {func(v *foreignVersioned) { v.tensor.byteOffset = math.MaxUint64 },
			"byte_offset: 18446744073709551615 from data"},
		"the end of memory": {func(v *foreignVersioned) { v.tensor.data = math.MaxUint64 - 8 },
			"leave the address space"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			v := p.float64s()
			c.spoil(&v)
			_, err := Import(p.versioned(v))
			assert.ErrorContains(t, err, c.want)
			if v.major == 1 && v.flags == 0 {
				_, err := ImportLegacy(p.legacy(foreignLegacy{tensor: v.tensor}))
				assert.ErrorContains(t, err, c.want)
			}
		})
	}
}

func TestImportRefusesNullAndMisalignedStructs(t *testing.T) {
	p := newProducer(t)
	_, err := Import(FromPointer(nil))
	assert.ErrorContains(t, err, "tensor: NULL")
	_, err = ImportLegacy(LegacyFromPointer(nil))
	assert.ErrorContains(t, err, "tensor: NULL")
	_, err = Import(FromPointer(unsafe.Pointer(&p.memory[3])))
	assert.ErrorContains(t, err, "not aligned")
	_, err = ImportLegacy(LegacyFromPointer(unsafe.Pointer(&p.memory[3])))
	assert.ErrorContains(t, err, "not aligned")
}

func TestFreeWithoutDeleter(t *testing.T) {
	p := newProducer(t)
	p.versioned(p.float64s()).Free()
	p.legacy(foreignLegacy{}).Free()
	FromPointer(nil).Free()
}

func TestAlignedCountsThePartsOfAComplexNumber(t *testing.T) {
	complex128s := Tensor{Data: 4104, DataType: DataType{Complex, 128, 1}, Shape: []int64{3, 1},
		Strides: []int64{16, 3}}
	assert.True(t, complex128s.Aligned())
	complex128s.Strides[0] = 20
	assert.False(t, complex128s.Aligned())
	complex128s.Shape[0] = 0
	assert.True(t, complex128s.Aligned())
}

func TestDeviceTypesHaveNames(t *testing.T) {
	for device, name := range map[DeviceType]string{
		CPU: "cpu", CUDA: "cuda", CUDAHost: "cuda_host", ROCMHost: "rocm_host",
		CUDAManaged: "cuda_managed", 99: "device type 99",
	} {
		assert.Equal(t, name, device.String())
	}
}

// A tensor that is freed or handed over is gone: no later use and no second Free reaches its
// memory.
func TestATensorIsGivenBackOnce(t *testing.T) {
	before := alloc.Statistics().LiveBuffers
	b := buffer(t, 8, 3)
	float64s := DataType{Float, 64, 1}
	freed, err := ExportBuffer(b, float64s)
	require.NoError(t, err)
	given, err := ExportBuffer(b, float64s)
	require.NoError(t, err)
	consumer := FromPointer(given.HandOver())
	b.Free()
	_, err = ExportBuffer(b, float64s)
	assert.ErrorContains(t, err, "alloc.Buffer: it is used after Free")
	freed.Free()
	for _, m := range []*Managed{freed, given, {}} {
		m.Free()
		assert.Nil(t, m.HandOver())
		_, err := Import(m)
		require.ErrorIs(t, err, alloc.ErrInvalid)
		assert.ErrorContains(t, err, "tensor: NULL; dlpack.Managed: ")
		assert.Panics(t, func() { m.Version() })
	}
	consumer.Free()
	assert.Equal(t, before, alloc.Statistics().LiveBuffers)
	p := newProducer(t)
	legacy := p.legacy(foreignLegacy{})
	legacy.Free()
	_, err = ImportLegacy(legacy)
	assert.ErrorContains(t, err, "tensor: NULL; dlpack.Legacy: it is used after Free")
}

func TestATensorAsAView(t *testing.T) {
	b := buffer(t, 8, 4, 3)
	defer b.Free()
	m, err := ExportBuffer(b, DataType{Int, 64, 1})
	require.NoError(t, err)
	defer m.Free()
	tensor, err := Import(m)
	require.NoError(t, err)
	got, err := tensor.View()
	require.NoError(t, err)
	want, err := b.View(alloc.Int64)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	tensor.Strides, tensor.DataType = nil, DataType{BFloat, 16, 1}
	got, err = tensor.View()
	require.NoError(t, err)
	assert.Equal(t, alloc.View{Data: b.Data(), ItemSize: 2, Shape: []int64{4, 3},
		Strides: []int64{6, 2}}, got)
	tensor.Device.Type = CUDA
	_, err = tensor.View()
	assert.ErrorContains(t, err, "device: cuda:0 is no memory of the host")
	tensor.Device.Type, tensor.Data = CPU, 0
	_, err = tensor.View()
	assert.ErrorContains(t, err, "tensor: Data is nil")
	tensor.DataType.Bits = 24
	_, err = tensor.View()
	assert.ErrorContains(t, err, "dtype: code 4, 24 bits, 1 lanes cannot be read")
}
