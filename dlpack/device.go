package dlpack

// #include "dlpack.h"
import "C"

import "fmt"

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
