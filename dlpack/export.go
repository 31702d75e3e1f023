package dlpack

// #cgo noescape export_versioned
// #cgo nocallback export_versioned
// #cgo noescape export_legacy
// #cgo nocallback export_legacy
// #include "../alloc/heap.h"
// #include "tensor.h"
//
// /* Exports pass the check of imports. */
// static int describe(gb_dlpack_desc *d, uintptr_t data, gb_error *e) {
//     d->data = (void *)data;
//     DLManagedTensorVersioned m = {
//         .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
//         .flags = d->flags,
//         .dl_tensor = {d->data, d->device, d->ndim, d->dtype, (int64_t *)d->shape,
//                       (int64_t *)d->strides, 0},
//     };
//     return gb_dlpack_check_versioned(&m, e);
// }
//
// static DLManagedTensorVersioned *export_versioned(gb_dlpack_desc d, uintptr_t data,
//         const int64_t *shape, const int64_t *strides, void *owner, void *release, gb_error *e) {
//     d.shape = shape;
//     d.strides = strides;
//     if (describe(&d, data, e) < 0) return NULL;
//     return gb_dlpack_versioned(&d, owner, (gb_dlpack_release)release);
// }
//
// static DLManagedTensor *export_legacy(gb_dlpack_desc d, uintptr_t data, const int64_t *shape,
//         const int64_t *strides, void *owner, void *release, gb_error *e) {
//     d.shape = shape;
//     d.strides = strides;
//     if (describe(&d, data, e) < 0) return NULL;
//     return gb_dlpack_legacy(&d, owner, (gb_dlpack_release)release);
// }
import "C"

import (
	"math"
	"unsafe"

	"gridbuf/alloc"
	"gridbuf/internal/handle"
	"gridbuf/internal/message"
)

// Owner is what keeps exported memory alive. The tensor's deleter calls Release, a C
// function void(*)(void *owner), with Pointer, on whatever thread the consumer is
// done; Release must not be Go. For memory of malloc it is C's free. The zero Owner
// releases nothing.
type Owner struct {
	Pointer, Release unsafe.Pointer
}

// Managed holds a DLManagedTensorVersioned in C memory, until Free or HandOver.
type Managed struct{ tensor handle.Handle }

// Legacy holds a DLManagedTensor, the struct of DLPack before 1.0, in C memory, until Free or
// HandOver.
type Legacy struct{ tensor handle.Handle }

const (
	managedName = "dlpack.Managed"
	legacyName  = "dlpack.Legacy"
)

// HandOver gives the DLManagedTensorVersioned * to a consumer, who calls its deleter once. The
// Managed holds nothing afterwards; nil where it held nothing before.
func (m *Managed) HandOver() unsafe.Pointer { return m.tensor.Take(managedName) }

// HandOver gives the DLManagedTensor * to a consumer, who calls its deleter once. The Legacy holds
// nothing afterwards; nil where it held nothing before.
func (m *Legacy) HandOver() unsafe.Pointer { return m.tensor.Take(legacyName) }

// Export makes a managed tensor of t. After an error the owner has not been
// released. The memory at t.Data must not be Go's.
func Export(t Tensor, owner Owner) (*Managed, error) {
	strides, err := t.items()
	if err != nil {
		return nil, err
	}
	var e C.gb_error
	p := C.export_versioned(t.fixed(), C.uintptr_t(t.Data), list(t.Shape), list(strides),
		owner.Pointer, owner.Release, &e)
	if p == nil {
		return nil, refusal(&e)
	}
	return FromPointer(unsafe.Pointer(p)), nil
}

// ExportLegacy makes a tensor of the flavour that older consumers ask for. It has no
// flags, so read-only memory is refused.
func ExportLegacy(t Tensor, owner Owner) (*Legacy, error) {
	if t.Flags&ReadOnly != 0 {
		return nil, alloc.ErrInvalid.Errorf("tensor: a legacy consumer cannot see that memory is " +
			"read-only; it must ask for max_version (1, 0) or later, or for a copy")
	}
	if t.DataType.subByte() {
		return nil, alloc.ErrInvalid.Errorf("dtype: %s cannot be exported to a legacy consumer, "+
			"which does not know padded items", t.DataType)
	}
	strides, err := t.items()
	if err != nil {
		return nil, err
	}
	var e C.gb_error
	p := C.export_legacy(t.fixed(), C.uintptr_t(t.Data), list(t.Shape), list(strides),
		owner.Pointer, owner.Release, &e)
	if p == nil {
		return nil, refusal(&e)
	}
	return LegacyFromPointer(unsafe.Pointer(p)), nil
}

// fixed is the part of a description without pointers.
func (t *Tensor) fixed() (d C.gb_dlpack_desc) {
	d.ndim = C.int32_t(min(len(t.Shape), math.MaxInt32))
	d.device = C.DLDevice{device_type: C.DLDeviceType(t.Device.Type),
		device_id: C.int32_t(t.Device.ID)}
	d.dtype = t.DataType.c()
	d.flags = C.uint64_t(t.Flags)
	if t.DataType.subByte() {
		d.flags |= C.DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
	}
	return d
}

// items turns byte strides into DLPack's. Where there is no second element the
// stride never counts and a remainder does not matter.
func (t *Tensor) items() ([]int64, error) {
	if t.Strides == nil {
		return nil, nil
	}
	if len(t.Strides) != len(t.Shape) {
		return nil, alloc.ErrInvalid.Errorf("strides: %d entries for %d dimensions", len(t.Strides),
			len(t.Shape))
	}
	size := max(t.DataType.ItemSize(), 1) // a type without a size is the check's to refuse
	items := make([]int64, len(t.Strides))
	for i, s := range t.Strides {
		if s%size != 0 && t.Shape[i] > 1 {
			return nil, alloc.ErrInvalid.Errorf("strides: entry %d is %d bytes, no multiple of "+
				"the %d bytes of %s; DLPack counts in items", i, s, size, t.DataType)
		}
		items[i] = s / size
	}
	return items, nil
}

// list is a slice for C, NULL for nil. C copies it.
func list(s []int64) *C.int64_t { return (*C.int64_t)(unsafe.SliceData(s)) }

// refusal is what C refused; nothing was, where there was no memory.
func refusal(e *C.gb_error) error {
	if e.kind == 0 {
		return alloc.ErrNoMemory.Errorf("no memory left for a DLPack tensor")
	}
	return alloc.Kind(e.kind).Errorf("%s", message.Text(e.message[:]))
}

// DescribePlan describes memory laid out by a plan whose first element is at data.
// Pinned memory is plain CPU memory to a consumer; set Device to ask for more.
func DescribePlan(p *alloc.Plan, t DataType, data uintptr) (Tensor, error) {
	if t.ItemSize() != p.ItemSize() {
		return Tensor{}, alloc.ErrInvalid.Errorf("dtype: items of %s take %d bytes, those of the "+
			"plan %d", t, t.ItemSize(), p.ItemSize())
	}
	device := Device{Type: CPU}
	if p.Device() == alloc.GPU {
		device = Device{CUDA, int32(p.DeviceID())}
	}
	return Tensor{Data: data, Device: device, DataType: t, Shape: p.Shape(),
		Strides: p.Strides()}, nil
}

// ExportBuffer hands a buffer over. The tensor holds a share of the memory of its
// own: the caller still frees b, before or after the consumer is done.
func ExportBuffer(b *alloc.Buffer, t DataType) (*Managed, error) {
	if _, err := b.View(alloc.Raw); err != nil {
		return nil, err
	}
	tensor, err := DescribePlan(b.Plan(), t, uintptr(b.Data()))
	if err != nil {
		return nil, err
	}
	return ExportShared(tensor, b)
}

// ExportShared exports a tensor of memory within a buffer, as ExportBuffer does.
func ExportShared(t Tensor, b *alloc.Buffer) (*Managed, error) {
	data := b.Data()
	C.gb_heap_share(data) // the consumer's holder, which no Buffer stands for
	m, err := Export(t, Owner{data, unsafe.Pointer(C.gb_heap_release)})
	if err != nil {
		C.gb_heap_release(data)
	}
	return m, err
}
