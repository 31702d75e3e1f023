package dlpack

// #include "../alloc/heap.h"
import "C"

import (
	"unsafe"

	"gridbuf/alloc"
)

// DescribePlan describes memory laid out by a plan whose first element is at data.
// Pinned memory is plain CPU memory to a consumer; set Device to ask for more.
func DescribePlan(p *alloc.Plan, t DataType, data uintptr) (Tensor, error) {
	if t.ItemSize() != p.ItemSize() {
		return Tensor{}, alloc.ErrInvalid.Errorf("dtype: items of %s take %d bytes, those of the plan %d", t, t.ItemSize(), p.ItemSize())
	}
	device := Device{Type: CPU}
	if p.Device() == alloc.GPU {
		device = Device{CUDA, int32(p.DeviceID())}
	}
	return Tensor{Data: data, Device: device, DataType: t, Shape: p.Shape(), Strides: p.Strides()}, nil
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
	share := b.Share()
	m, err := Export(tensor, Owner{share.Data(), unsafe.Pointer(C.gb_heap_release)})
	if err != nil {
		share.Free()
	}
	return m, err
}
