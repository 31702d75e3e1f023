package cuda

// #include "cuda.h"
import "C"

import (
	"context"
	"fmt"

	"gridbuf/alloc"
	"gridbuf/internal/message"
	"gridbuf/internal/stop"
)

// Device describes a GPU.
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

// Describe asks the driver about a GPU.
func Describe(device int) (Device, error) {
	var e C.gb_cuda_error
	var d C.gb_cuda_device_info
	if err := check(C.gb_cuda_info(C.int(device), &d, &e), &e); err != nil {
		return Device{}, err
	}
	return Device{
		Name: C.GoString(&d.name[0]), DriverVersion: int(d.driver_version),
		Major: int(d.compute_major), Minor: int(d.compute_minor),
		MemoryPools: d.memory_pools != 0, Managed: d.managed_memory != 0,
		Integrated: d.integrated != 0,
		Total:      int64(d.total_bytes), Free: int64(d.free_bytes),
	}, nil
}

// Synchronize waits for all work of a GPU; [Event.Wait] waits for that of a queue. The context,
// which may be nil, is asked first and while the host waits; after its end the work goes on.
func Synchronize(ctx context.Context, device int) error {
	if err := stop.Asked(ctx); err != nil {
		return err
	}
	return stop.Waiting(ctx, func() error {
		var e C.gb_cuda_error
		return check(C.gb_cuda_synchronize(C.int(device), &e), &e)
	})
}

// Memory is the kind of memory that lies at an address, and the number of its GPU, which counts
// where the kind is not Host.
type Memory struct {
	Kind   Kind
	Device int
}

// PointerAttributes asks the driver about the memory at an address. Memory that CUDA does not know
// is of kind Host.
func PointerAttributes(address uintptr) (Memory, error) {
	var e C.gb_cuda_error
	var kind, device C.int
	err := check(C.gb_cuda_pointer_attributes(C.uint64_t(address), &kind, &device, &e), &e)
	if err != nil || kind < 0 {
		return Memory{Kind: Host}, err
	}
	return Memory{Kind(kind), int(device)}, nil
}

// Causes of an [Error], for errors.Is. Each is one of the kinds of alloc as well.
var (
	ErrNoDriver  = fmt.Errorf("cuda: no driver: %w", alloc.ErrUnavailable)
	ErrOldDriver = fmt.Errorf("cuda: driver too old: %w", alloc.ErrUnavailable)
	ErrNoDevice  = fmt.Errorf("cuda: no such device: %w", alloc.ErrUnavailable)
	ErrForked    = fmt.Errorf("cuda: used after fork: %w", alloc.ErrUnavailable)
	ErrNoMemory  = fmt.Errorf("cuda: %w", alloc.ErrNoMemory)
	ErrOverLimit = fmt.Errorf("cuda: over the limit: %w", alloc.ErrNoMemory)
	ErrArgument  = fmt.Errorf("cuda: %w", alloc.ErrInvalid)
)

// Error is an error of the driver, whose number Code is, or of this package: then Code is 0.
type Error struct {
	Code   int
	Text   string
	status C.int32_t
}

func (e *Error) Error() string { return e.Text }

// Unwrap gives the Err variable for this kind of error, or [alloc.ErrUnavailable].
func (e *Error) Unwrap() error {
	switch e.status {
	case C.GB_CUDA_NO_DRIVER:
		return ErrNoDriver
	case C.GB_CUDA_OLD_DRIVER:
		return ErrOldDriver
	case C.GB_CUDA_NO_DEVICE:
		return ErrNoDevice
	case C.GB_CUDA_FORKED:
		return ErrForked
	case C.GB_CUDA_NO_MEMORY:
		return ErrNoMemory
	case C.GB_CUDA_OVER_LIMIT:
		return ErrOverLimit
	case C.GB_CUDA_ARGUMENT:
		return ErrArgument
	}
	return alloc.ErrUnavailable
}

// refuse is what a caller of this package got wrong.
func refuse(format string, values ...any) error {
	return &Error{Text: fmt.Sprintf(format, values...), status: C.GB_CUDA_ARGUMENT}
}

// refuseFault is the use of what holds nothing; nil where fault is empty.
func refuseFault(name, fault string) error {
	if fault == "" {
		return nil
	}
	return refuse("%s: %s", name, fault)
}

func check(result C.int, e *C.gb_cuda_error) error {
	if result >= 0 {
		return nil
	}
	return &Error{Code: int(e.code), Text: message.Text(e.text[:]), status: e.status}
}
