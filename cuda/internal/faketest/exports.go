package faketest

// #include "control.h"
// #include "../../cuda.h"
import "C"

import "unsafe"

// CupyMalloc, CupyFree and the others are what other libraries are given (cuda.h).
func CupyMalloc(bytes int64, device int) uintptr {
	return uintptr(C.gb_cuda_cupy_malloc(nil, C.size_t(bytes), C.int(device)))
}

func CupyMallocManaged(bytes int64, device int) uintptr {
	return uintptr(C.gb_cuda_cupy_malloc_managed(nil, C.size_t(bytes), C.int(device)))
}

func CupyMallocPinned(bytes int64) uintptr {
	return uintptr(C.gb_cuda_cupy_malloc_pinned(nil, C.size_t(bytes), 0))
}

func CupyFree(data uintptr) { C.gb_cuda_cupy_free(nil, pointer(data), 0) }

func TorchMalloc(bytes int64, device int, stream uintptr) uintptr {
	return uintptr(C.gb_cuda_torch_malloc(C.ssize_t(bytes), C.int(device), pointer(stream)))
}

func TorchFree(data uintptr, bytes int64, stream uintptr) {
	C.gb_cuda_torch_free(pointer(data), C.ssize_t(bytes), 0, pointer(stream))
}

func TorchRecordStream(data, stream uintptr) {
	C.gb_cuda_torch_record_stream(pointer(data), pointer(stream))
}

func pointer(address uintptr) unsafe.Pointer { return C.host(C.uint64_t(address)) }
