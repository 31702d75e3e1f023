/* driver.h: the CUDA driver inside this room: the entry points in use, errors, fork, and the
 * primary context of each GPU. */
#pragma once

#include "cuda.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- entry points ---- */

/* The part of the CUDA driver API that this room uses, written out, because there is no cuda.h at
 * build time. Names are the versioned ones that the library exports; without a suffix such as
 * _ptsz, stream 0 is the legacy default stream. */

#define GB_CUDA_MIN_VERSION 11000
#define GB_CUDA_MAX_DEVICES 64

typedef int CUresult;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef void *CUstream;
typedef unsigned long long CUdeviceptr;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_STUB_LIBRARY = 34,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
};

enum { /* CUdevice_attribute */
       CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
       CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
       CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
       CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
       CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89,
       CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115,
};
enum { /* CUpointer_attribute */
       CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
       CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
};
enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 }; /* CUmemorytype */

typedef struct CUDA_MEMCPY2D {
    size_t srcXInBytes, srcY;
    unsigned srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    void *srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    unsigned dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    void *dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

/* X: entry points without which nothing works; Y: those a driver may lack. */
#define GB_CU_ENTRIES(X, Y)                                                                    \
    X(cuInit, (unsigned flags))                                                                \
    X(cuDriverGetVersion, (int *version))                                                      \
    X(cuGetErrorName, (CUresult code, const char **name))                                      \
    X(cuGetErrorString, (CUresult code, const char **text))                                    \
    X(cuDeviceGetCount, (int *count))                                                          \
    X(cuDeviceGet, (CUdevice * device, int ordinal))                                           \
    X(cuDeviceGetName, (char *name, int room, CUdevice device))                                \
    X(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device))                      \
    X(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device))                                   \
    X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                        \
    X(cuCtxPushCurrent_v2, (CUcontext context))                                                \
    X(cuCtxPopCurrent_v2, (CUcontext * context))                                               \
    X(cuCtxSynchronize, (void))                                                                \
    X(cuCtxGetDevice, (CUdevice * device))                                                     \
    X(cuMemGetInfo_v2, (size_t *free_bytes, size_t *total_bytes))                              \
    X(cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))                                    \
    X(cuMemFree_v2, (CUdeviceptr address))                                                     \
    X(cuMemHostAlloc, (void **address, size_t bytes, unsigned flags))                          \
    X(cuMemFreeHost, (void *address))                                                          \
    X(cuMemAllocManaged, (CUdeviceptr * address, size_t bytes, unsigned flags))                \
    X(cuPointerGetAttribute, (void *value, int attribute, CUdeviceptr address))                \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream)) \
    X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))       \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)) \
    X(cuMemcpyPeerAsync, (CUdeviceptr to, CUcontext to_context, CUdeviceptr from,              \
                          CUcontext from_context, size_t bytes, CUstream stream))              \
    X(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream))                        \
    X(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream))   \
    X(cuMemsetD16Async, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream)) \
    X(cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t count, CUstream stream))       \
    X(cuStreamCreate, (CUstream * stream, unsigned flags))                                     \
    X(cuStreamDestroy_v2, (CUstream stream))                                                   \
    X(cuStreamGetCtx, (CUstream stream, CUcontext * context))                                  \
    X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                     \
    X(cuStreamSynchronize, (CUstream stream))                                                  \
    X(cuEventCreate, (CUevent * event, unsigned flags))                                        \
    X(cuEventRecord, (CUevent event, CUstream stream))                                         \
    X(cuEventQuery, (CUevent event))                                                           \
    X(cuEventDestroy_v2, (CUevent event))                                                      \
    X(cuModuleLoadData, (CUmodule * module, const void *image))                                \
    X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))         \
    X(cuLaunchKernel, (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, \
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,  \
                       CUstream stream, void **parameters, void **extra))                      \
    Y(cuMemAllocAsync, (CUdeviceptr * address, size_t bytes, CUstream stream))                 \
    Y(cuMemFreeAsync, (CUdeviceptr address, CUstream stream))                                  \
    Y(cuCtxRecordEvent, (CUcontext context, CUevent event))

typedef struct gb_cu_driver {
#define MEMBER(name, parameters) CUresult(*name) parameters;
    GB_CU_ENTRIES(MEMBER, MEMBER)
#undef MEMBER
} gb_cu_driver;

extern gb_cu_driver gb_cu; /* filled by gb_cuda_start */

#define GB_CU_STREAM(queue) ((CUstream)(uintptr_t)(queue).stream)

/* ---- errors: these fill in *e, where e is not NULL, and return -1 ---- */

int gb_cu_fail(gb_cuda_error *e, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int gb_cu_says(gb_cuda_error *e, CUresult code, const char *call); /* 0 when code is success */
char *gb_cu_size(char room[32], int64_t bytes);                    /* "1.5 GiB" */

/* Calls an entry point: 0, or -1 with the driver's error. */
#define GB_CU(e, name, ...) gb_cu_says((e), gb_cu.name(__VA_ARGS__), #name)

/* ---- fork ---- */

/* Locks of this room. A thread that takes several takes them in this order, as fork does. */
extern pthread_mutex_t gb_cu_making; /* of pools */
extern pthread_mutex_t gb_cu_pool_locks[GB_CUDA_KINDS][GB_CUDA_MAX_DEVICES];
extern pthread_mutex_t gb_cu_live_lock, gb_cu_streams_lock, gb_cu_events_lock;

extern int gb_cu_in_child; /* the driver was in use before the fork */
int gb_cu_after_fork(gb_cuda_error *e);

/* ---- contexts ---- */

typedef struct gb_cu_device {
    CUdevice device;
    CUcontext context; /* the primary one, retained for as long as the process lives */
    int memory_pools;  /* stream-ordered allocation is there and wanted */
    int64_t total_bytes;
    CUmodule kernels; /* relayout.c */
    CUfunction functions[5][5];
} gb_cu_device;

/* Makes the primary context current until gb_cu_leave; NULL on error. Within another gb_cu_enter of
 * the same device nothing is pushed. */
gb_cu_device *gb_cu_enter(int device, gb_cuda_error *e);
/* For releases, which no caller can repeat: tries twice. */
gb_cu_device *gb_cu_enter_to_release(int device);
void gb_cu_leave(void);
int gb_cu_left(int rc); /* leaves, and returns rc */
/* The device if it was entered before, else NULL; calls nothing of the driver. */
gb_cu_device *gb_cu_retained(int device);
int gb_cu_no_device(int device, gb_cuda_error *e); /* -1 */
