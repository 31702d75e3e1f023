/* exports.h: functions whose addresses other libraries are given (gridbuf.interop). Their
 * signatures are those libraries'; they never change. Any thread may call them. */
#pragma once

#include "cuda.h"

#include <stddef.h>
#include <sys/types.h>

/* cupy.cuda.memory.CFunctionAllocator(param, malloc, free, owner); param is not used. */
void *gb_cuda_cupy_malloc(void *param, size_t bytes, int device);
void *gb_cuda_cupy_malloc_managed(void *param, size_t bytes, int device);
void *gb_cuda_cupy_malloc_pinned(void *param, size_t bytes, int device);
void gb_cuda_cupy_free(void *param, void *data, int device); /* of any of the three */

/* torch.cuda.memory.CUDAPluggableAllocator, and its record_stream function; the first two
 * also do for RMM's CallbackMemoryResource and numba's memory manager. */
void *gb_cuda_torch_malloc(ssize_t bytes, int device, void *stream);
void gb_cuda_torch_free(void *data, ssize_t bytes, int device, void *stream);
void gb_cuda_torch_record_stream(void *data, void *stream);
