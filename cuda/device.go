package cuda

// #include "cuda.h"
import "C"

// Device says what a GPU is.
type Device struct {
	Name                string
	DriverVersion       int // 12040 is CUDA 12.4
	Major, Minor        int // compute capability
	MemoryPools         bool
	Managed, Integrated bool
	Total, Free         int64
}

// Start opens the driver. Other functions do so themselves.
func Start() error {
	var e C.gb_cuda_error
	return check(C.gb_cuda_start(&e), &e)
}

// Started says whether the driver is open, without opening it.
func Started() bool { return C.gb_cuda_started() != 0 }

// Devices is the number of GPUs.
func Devices() (int, error) {
	var e C.gb_cuda_error
	var n C.int
	err := check(C.gb_cuda_count(&n, &e), &e)
	return int(n), err
}

// Describe asks what a GPU is.
func Describe(device int) (Device, error) {
	var e C.gb_cuda_error
	var d C.gb_cuda_device_info
	if err := check(C.gb_cuda_info(C.int(device), &d, &e), &e); err != nil {
		return Device{}, err
	}
	return Device{
		Name: C.GoString(&d.name[0]), DriverVersion: int(d.driver_version), Major: int(d.compute_major), Minor: int(d.compute_minor),
		MemoryPools: d.memory_pools != 0, Managed: d.managed_memory != 0, Integrated: d.integrated != 0,
		Total: int64(d.total_bytes), Free: int64(d.free_bytes),
	}, nil
}

// Synchronize waits for all work of a GPU.
func Synchronize(device int) error {
	var e C.gb_cuda_error
	return check(C.gb_cuda_synchronize(C.int(device), &e), &e)
}

// PointerAttributes says what lies at an address, and on which GPU; false for memory that CUDA does not know.
func PointerAttributes(address uintptr) (Kind, int, bool, error) {
	var e C.gb_cuda_error
	var kind, device C.int
	err := check(C.gb_cuda_pointer_attributes(C.uint64_t(address), &kind, &device, &e), &e)
	return Kind(kind), int(device), kind >= 0, err
}
