package dlpack

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The ABI once more, as plain Go, so that a test can write any value into any field.
// The C header itself is held against the official one in tests/exchange/test_dlpack_abi.py.
type (
	foreignTensor struct {
		data                 uintptr
		deviceType, deviceID int32
		ndim                 int32
		code, bits           uint8
		lanes                uint16
		shape, strides       uintptr
		byteOffset           uint64
	}
	foreignVersioned struct {
		major, minor uint32
		ctx, deleter uintptr
		flags        uint64
		tensor       foreignTensor
	}
	foreignLegacy struct {
		tensor       foreignTensor
		ctx, deleter uintptr
	}
)

// producer is a foreign producer's memory: C memory with pages around it that must
// not be touched. Lists end right before such a page, so that reading one entry too
// many ends the test.
type producer struct {
	page   int
	memory []byte
}

func newProducer(t testing.TB) *producer {
	page := syscall.Getpagesize()
	memory, err := syscall.Mmap(-1, 0, 5*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	require.NoError(t, syscall.Mprotect(memory[2*page:3*page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(memory[4*page:], syscall.PROT_NONE))
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(memory)) })
	return &producer{page: page, memory: memory}
}

// lists places shape and strides, each before its guard page, and returns where.
func (p *producer) lists(shape, strides []int64) (uintptr, uintptr) {
	return place(p.memory[p.page:2*p.page], shape), place(p.memory[3*p.page:4*p.page], strides)
}

func place(room []byte, list []int64) uintptr {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(room))) + uintptr(len(room)-8*len(list))
	copy(room[len(room)-8*len(list):], unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))),
		8*len(list)))
	return start
}

func (p *producer) versioned(v foreignVersioned) *Managed {
	at := unsafe.Pointer(&p.memory[64])
	*(*foreignVersioned)(at) = v
	return FromPointer(at)
}

func (p *producer) legacy(v foreignLegacy) *Legacy {
	at := unsafe.Pointer(&p.memory[512])
	*(*foreignLegacy)(at) = v
	return LegacyFromPointer(at)
}

// float64s is a sound versioned tensor of 3 x 4 float64 at a made-up address, which
// the tests then spoil.
func (p *producer) float64s() foreignVersioned {
	shape, strides := p.lists([]int64{3, 4}, []int64{4, 1})
	return foreignVersioned{major: 1, minor: 3, tensor: foreignTensor{
		data: 1 << 20, deviceType: 1, ndim: 2, code: 2, bits: 64, lanes: 1, shape: shape,
		strides: strides,
	}}
}
