package dlpack

// #cgo noescape check_versioned
// #cgo nocallback check_versioned
// #cgo noescape check_legacy
// #cgo nocallback check_legacy
// #cgo noescape first
// #cgo nocallback first
// #cgo noescape gb_dlpack_byte_strides
// #cgo nocallback gb_dlpack_byte_strides
// #include "tensor.h"
//
// /* void *: a foreign pointer may be misaligned, and Go must not see it as a struct before it has
//    been checked. */
// static int check_versioned(const void *m, gb_error *e) {
//     return gb_dlpack_check_versioned(m, e);
// }
// static int check_legacy(const void *m, gb_error *e) {
//     return gb_dlpack_check_legacy(m, e);
// }
// static void release_versioned(void *p) {
//     DLManagedTensorVersioned *m = p;
//     if (m && m->deleter) m->deleter(m);
// }
// static void release_legacy(void *p) {
//     DLManagedTensor *m = p;
//     if (m && m->deleter) m->deleter(m);
// }
// static uintptr_t first(const DLTensor *t) { return (uintptr_t)gb_dlpack_first(t); }
import "C"

import (
	"unsafe"

	"gridbuf/alloc"
)

// FromPointer takes a DLManagedTensorVersioned * of a producer.
func FromPointer(p unsafe.Pointer) *Managed {
	m := &Managed{}
	m.tensor.Hold(p)
	return m
}

// LegacyFromPointer takes a DLManagedTensor * of a producer.
func LegacyFromPointer(p unsafe.Pointer) *Legacy {
	m := &Legacy{}
	m.tensor.Hold(p)
	return m
}

// Check says why the tensor cannot be read safely, or nil. It trusts nothing but that
// pointers that are not NULL can be read.
func (m *Managed) Check() error {
	if fault := m.tensor.Fault(); fault != "" {
		return held(managedName, fault)
	}
	var e C.gb_error
	if C.check_versioned(m.tensor.Address(managedName), &e) < 0 {
		return refusal(&e)
	}
	return nil
}

// Check says why the tensor cannot be read safely, or nil. It trusts nothing but that
// pointers that are not NULL can be read.
func (m *Legacy) Check() error {
	if fault := m.tensor.Fault(); fault != "" {
		return held(legacyName, fault)
	}
	var e C.gb_error
	if C.check_legacy(m.tensor.Address(legacyName), &e) < 0 {
		return refusal(&e)
	}
	return nil
}

// held is what is wrong with a Managed or a Legacy that has no tensor.
func held(name, fault string) error {
	return alloc.ErrInvalid.Errorf("tensor: NULL; %s: %s", name, fault)
}

// Import checks a tensor and reads its description, with every stride filled in. It
// takes nothing over: the caller calls Free once it is done with the memory, and
// also after an error.
func Import(m *Managed) (Tensor, error) {
	if err := m.Check(); err != nil {
		return Tensor{}, err
	}
	managed := (*C.DLManagedTensorVersioned)(m.tensor.Address(managedName))
	t := read(&managed.dl_tensor)
	t.Flags = Flags(managed.flags)
	return t, nil
}

// ImportLegacy is Import for the legacy flavour, which has no flags: its memory
// counts as writable.
func ImportLegacy(m *Legacy) (Tensor, error) {
	if err := m.Check(); err != nil {
		return Tensor{}, err
	}
	return read(&(*C.DLManagedTensor)(m.tensor.Address(legacyName)).dl_tensor), nil
}

// Version is the version of DLPack that the producer has written, also one that Import refuses.
func (m *Managed) Version() Version {
	v := (*C.DLManagedTensorVersioned)(m.tensor.Address(managedName)).version
	return Version{uint32(v.major), uint32(v.minor)}
}

// Free calls the tensor's deleter, if it has one. A second Free does nothing, nor does one after
// HandOver.
func (m *Managed) Free() { C.release_versioned(m.tensor.Take(managedName)) }

// Free calls the tensor's deleter, if it has one. A second Free does nothing, nor does one after
// HandOver.
func (m *Legacy) Free() { C.release_legacy(m.tensor.Take(legacyName)) }

// read copies a tensor that passed the check.
func read(t *C.DLTensor) Tensor {
	n := int(t.ndim)
	lists := make([]int64, 2*n)
	out := Tensor{
		Data:   uintptr(C.first(t)),
		Device: Device{DeviceType(t.device.device_type), int32(t.device.device_id)},
		DataType: DataType{Code: Code(t.dtype.code), Bits: uint8(t.dtype.bits),
			Lanes: uint16(t.dtype.lanes)},
		Shape:   lists[:n:n],
		Strides: lists[n:],
	}
	if n > 0 {
		copy(out.Shape, unsafe.Slice((*int64)(t.shape), n))
		C.gb_dlpack_byte_strides(t, (*C.int64_t)(&out.Strides[0]))
	}
	return out
}
