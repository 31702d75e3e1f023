package dlpack

// #include <stdlib.h>
// #include "check.h"
// #include "export.h"
//
// static int check_versioned(const gb_dltensor_desc *d, char *why, size_t room) {
//     DLManagedTensorVersioned m = {.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, .flags = d->flags,
//         .dl_tensor = {d->data, d->device, d->ndim, d->dtype, (int64_t *)d->shape, (int64_t *)d->strides, 0}};
//     return gb_dlpack_check_versioned(&m, why, room);
// }
//
// static void set_data(gb_dltensor_desc *d, uintptr_t data) { d->data = (void *)data; }
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// Owner is what keeps exported memory alive. The tensor's deleter calls Release, a C
// function void(*)(void *owner), with Pointer, on whatever thread the consumer is
// done; Release must not be Go. The zero Owner releases nothing.
type Owner struct {
	Pointer, Release unsafe.Pointer
}

// Malloced owns a block of C's malloc: the deleter calls free.
func Malloced(block unsafe.Pointer) Owner { return Owner{block, C.free} }

// Managed is a DLManagedTensorVersioned in C memory.
type Managed struct{ p *C.DLManagedTensorVersioned }

// Legacy is a DLManagedTensor, the struct of DLPack before 1.0, in C memory.
type Legacy struct{ p *C.DLManagedTensor }

// Pointer is the DLManagedTensorVersioned *, to be handed to a consumer. Whoever
// holds it calls its deleter once.
func (m Managed) Pointer() unsafe.Pointer { return unsafe.Pointer(m.p) }

// Pointer is the DLManagedTensor *, to be handed to a consumer. Whoever holds it
// calls its deleter once.
func (m Legacy) Pointer() unsafe.Pointer { return unsafe.Pointer(m.p) }

// Export makes a managed tensor of t. After an error the owner has not been
// released. The memory at t.Data must not be Go's.
func Export(t Tensor, owner Owner) (Managed, error) {
	d, free, err := describe(t)
	if err != nil {
		return Managed{}, err
	}
	defer free()
	p := C.gb_dlpack_versioned(d, owner.Pointer, C.gb_dlpack_release(owner.Release))
	if p == nil {
		return Managed{}, errNoMemory
	}
	return Managed{p}, nil
}

// ExportLegacy makes a tensor of the flavour that older consumers ask for. It has no
// flags, so read-only memory is refused.
func ExportLegacy(t Tensor, owner Owner) (Legacy, error) {
	if t.Flags&ReadOnly != 0 {
		return Legacy{}, errors.New("tensor: read-only memory cannot be told to a legacy consumer; it must ask for max_version (1, 0) or later, or for a copy")
	}
	if t.DataType.subByte() {
		return Legacy{}, fmt.Errorf("dtype: %s cannot be told to a legacy consumer, which has no word for padded items", t.DataType)
	}
	d, free, err := describe(t)
	if err != nil {
		return Legacy{}, err
	}
	defer free()
	p := C.gb_dlpack_legacy(d, owner.Pointer, C.gb_dlpack_release(owner.Release))
	if p == nil {
		return Legacy{}, errNoMemory
	}
	return Legacy{p}, nil
}

var errNoMemory = errors.New("no memory left for a DLPack tensor")

// describe writes t down for C, in C memory, and holds it to the check that imports
// pass: what gridbuf exports, gridbuf can read.
func describe(t Tensor) (*C.gb_dltensor_desc, func(), error) {
	n := len(t.Shape)
	if n > C.GB_DLPACK_MAXDIMS {
		return nil, nil, fmt.Errorf("ndim: %d; allowed are 0 to %d", n, C.GB_DLPACK_MAXDIMS)
	}
	if t.Strides != nil && len(t.Strides) != n {
		return nil, nil, fmt.Errorf("strides: %d entries for %d dimensions", len(t.Strides), n)
	}
	if t.DataType.subByte() {
		t.Flags |= SubBytePadded
	}
	d := (*C.gb_dltensor_desc)(C.calloc(1, C.size_t(unsafe.Sizeof(C.gb_dltensor_desc{}))+C.size_t(2*n*8)))
	if d == nil {
		return nil, nil, errNoMemory
	}
	free := func() { C.free(unsafe.Pointer(d)) }
	lists := unsafe.Slice((*int64)(unsafe.Add(unsafe.Pointer(d), unsafe.Sizeof(*d))), 2*n)
	copy(lists, t.Shape)
	if n > 0 {
		d.shape = (*C.int64_t)(&lists[0])
	}
	if n > 0 && t.Strides != nil {
		if err := toItems(lists[n:], t); err != nil {
			free()
			return nil, nil, err
		}
		d.strides = (*C.int64_t)(&lists[n])
	}
	C.set_data(d, C.uintptr_t(t.Data))
	d.flags = C.uint64_t(t.Flags)
	d.device = C.DLDevice{device_type: C.DLDeviceType(t.Device.Type), device_id: C.int32_t(t.Device.ID)}
	d.dtype = C.DLDataType{code: C.uint8_t(t.DataType.Code), bits: C.uint8_t(t.DataType.Bits), lanes: C.uint16_t(t.DataType.Lanes)}
	d.ndim = C.int32_t(n)
	if err := refused(func(why *C.char, room C.size_t) C.int { return C.check_versioned(d, why, room) }); err != nil {
		free()
		return nil, nil, err
	}
	return d, free, nil
}

// toItems turns byte strides into DLPack's. Where there is no second element the
// stride never counts and a remainder does not matter.
func toItems(items []int64, t Tensor) error {
	size := t.DataType.ItemSize()
	if size == 0 {
		return nil // the check says what is wrong with the type
	}
	for i, s := range t.Strides {
		if s%size != 0 && t.Shape[i] > 1 {
			return fmt.Errorf("strides: entry %d is %d bytes, no multiple of the %d bytes of %s; DLPack counts in items", i, s, size, t.DataType)
		}
		items[i] = s / size
	}
	return nil
}

// refused runs a check and returns what it wrote. The text lies in C memory.
func refused(check func(why *C.char, room C.size_t) C.int) error {
	const room = 256
	why := (*C.char)(C.malloc(room))
	if why == nil {
		return errNoMemory
	}
	defer C.free(unsafe.Pointer(why))
	if check(why, room) == 0 {
		return nil
	}
	return errors.New(C.GoString(why))
}
