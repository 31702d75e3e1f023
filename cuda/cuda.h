/* cuda.h: device, pinned and managed memory through the CUDA driver, which is found at run time. No
 * other room uses a cu* name.
 *
 * The first call that needs the driver opens libcuda.so.1 (or what GRIDBUF_LIBCUDA
 * names), and each call acts in the PRIMARY context of its device, which cupy, torch and numba
 * use too: push, act and pop happen in one C function. Any thread may call, with or without the
 * GIL; no call enters Go or Python. A forked child is refused.
 *
 * Functions return 0, or -1 with the error filled in; those that cannot fail return nothing.
 * Addresses are numbers: device memory is never read by the host.
 */
#pragma once

#include "../alloc/block.h"
#include "../alloc/numbers.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Kinds of errors, apart from the driver's own code. */
enum {
    GB_CUDA_OK,
    GB_CUDA_NO_DRIVER,  /* libcuda.so.1 cannot be opened */
    GB_CUDA_OLD_DRIVER, /* an entry point is missing, or the version below GB_CUDA_MIN_VERSION */
    GB_CUDA_NO_DEVICE,  /* the driver finds no GPU, or not the one asked for */
    GB_CUDA_FORKED,     /* used after fork */
    GB_CUDA_NO_MEMORY,  /* CUDA_ERROR_OUT_OF_MEMORY, after the cache was given back */
    GB_CUDA_OVER_LIMIT, /* gb_cuda_set_limit */
    GB_CUDA_ARGUMENT,   /* the caller's mistake */
    GB_CUDA_NO_KERNELS, /* the driver does not take our PTX */
    GB_CUDA_STOPPED,    /* the caller's own function ended a copy (strided.h) */
    GB_CUDA_FAILED,     /* anything else the driver says; code and text are its own */
};

typedef struct gb_cuda_error {
    int32_t status;
    int32_t code;   /* the CUresult, or 0 */
    char text[504]; /* a whole sentence: the driver's name and text of the error, and sizes */
} gb_cuda_error;

/* ---- the driver and its devices ---- */

/* A CUstream: 0 the legacy default, 1 legacy, 2 per thread, else a pointer. */
typedef uint64_t gb_cuda_stream;

/* The target of asynchronous work. A stream needs its device: each device has default streams of
 * its own, and any other stream is valid on the device it was made on. */
typedef struct gb_cuda_queue {
    int32_t device;
    gb_cuda_stream stream;
} gb_cuda_queue;

typedef struct gb_cuda_device_info {
    char name[128];
    int32_t driver_version; /* 12040 is 12.4 */
    int32_t compute_major, compute_minor;
    int32_t memory_pools, managed_memory, concurrent_managed, integrated;
    int64_t total_bytes, free_bytes;
} gb_cuda_device_info;

int gb_cuda_start(gb_cuda_error *e); /* load and initialise; cheap when done before */
int gb_cuda_started(void);           /* asks nothing of the driver */
int gb_cuda_count(int *count, gb_cuda_error *e);
int gb_cuda_info(int device, gb_cuda_device_info *info, gb_cuda_error *e);
int gb_cuda_synchronize(int device, gb_cuda_error *e);

/* Brackets several calls on a device, without foreign code between: the context is pushed once. 0
 * or -1. */
int gb_cuda_enter(int device, gb_cuda_error *e);
void gb_cuda_leave(void);

/* The device of a stream; -1 for the default streams, which every device has. */
int gb_cuda_owner(gb_cuda_stream stream, int *device, gb_cuda_error *e);

/* The memory at a foreign address: *kind is GB_CUDA_* below, or -1 where CUDA does not know it. */
int gb_cuda_pointer_attributes(uint64_t address, int *kind, int *device, gb_cuda_error *e);

/* ---- memory ---- */

enum {
    GB_CUDA_DEVICE = GB_PLAIN,
    GB_CUDA_PINNED = GB_PINNED,
    GB_CUDA_MANAGED = GB_MANAGED,
    GB_CUDA_KINDS = GB_MEMORIES
};

/* data == offset (mod boundary), span bytes from data on. */
typedef struct gb_cuda_request {
    int32_t kind, device;
    int64_t span, boundary, offset;
    gb_cuda_stream stream; /* the stream that will use it first */
    uint64_t plan;         /* the plan's serial number, or 0 */
} gb_cuda_request;

typedef struct gb_cuda_block {
    uint64_t data; /* element 0's address; pinned and managed memory: on both sides */
    int64_t bytes; /* usable from data on */
    uint64_t id;   /* never used again, by no block of the host either */
    int32_t kind, device;
    int32_t exported; /* consumers on a GPU know the address, and may use it at any time */
} gb_cuda_block;      /* the pool's own record follows it */

int gb_cuda_alloc(const gb_cuda_request *request, gb_cuda_block **block, gb_cuda_error *e);
void gb_cuda_share(gb_cuda_block *block);
void gb_cuda_mark_exported(gb_cuda_block *block);
/* On any thread, also while the process ends and in a forked child. */
void gb_cuda_release(gb_cuda_block *block);
/* The live block whose data this is, or NULL: without, and with a share for the caller. */
gb_cuda_block *gb_cuda_find(uint64_t data);
gb_cuda_block *gb_cuda_find_shared(uint64_t data);

typedef gb_heap_stats gb_cuda_stats;

/* One pool for each kind and device; pinned memory has one pool, of device 0. */
void gb_cuda_get_stats(int kind, int device, gb_cuda_stats *out);
void gb_cuda_set_limit(int kind, int device, int64_t bytes); /* of live blocks; < 0 none */
void gb_cuda_set_cache_bound(int kind, int device, int64_t bytes);
int64_t gb_cuda_trim(int kind, int device, int64_t keep); /* bytes given back */

typedef struct gb_cuda_live {
    gb_cuda_block block;
    uint64_t plan;
    int64_t age; /* seconds */
} gb_cuda_live;
int64_t gb_cuda_live_blocks(gb_cuda_live *out, int64_t room); /* the largest first */

/* ---- bytes: asynchronous on the stream, unless stated otherwise ---- */

/* Host to device, device to host, device to device. */
enum { GB_CUDA_UPLOAD, GB_CUDA_DOWNLOAD, GB_CUDA_WITHIN };

int gb_cuda_copy(int direction, uint64_t dst, uint64_t src, int64_t bytes, gb_cuda_queue on,
                 gb_cuda_error *e);
int gb_cuda_copy_peer(uint64_t dst, uint64_t src, int src_device, int64_t bytes, gb_cuda_queue on,
                      gb_cuda_error *e); /* on dst's device */
int gb_cuda_set(uint64_t dst, int width, uint32_t value, int64_t count, gb_cuda_queue on,
                gb_cuda_error *e); /* width 1, 2 or 4 bytes */

int gb_cuda_kernels(int device, gb_cuda_error *e); /* 0, or -1 when the driver does not take them */

/* ---- order ---- */

/* An event on a stream, from a pool of them. */
typedef struct gb_cuda_event gb_cuda_event;
int gb_cuda_record(gb_cuda_queue on, gb_cuda_event **event, gb_cuda_error *e);
int gb_cuda_wait(gb_cuda_event *event, int64_t nanoseconds,
                 gb_cuda_error *e); /* 1 done, 0 time is up, -1 */
int gb_cuda_stream_wait_event(gb_cuda_event *event, gb_cuda_queue then,
                              gb_cuda_error *e); /* later work on `then` waits for it */
int gb_cuda_stream_wait_stream(gb_cuda_queue later, gb_cuda_queue earlier,
                               gb_cuda_error *e); /* for all that is on `earlier` now */
void gb_cuda_release_event(gb_cuda_event *event);
int gb_cuda_create_stream(int device, gb_cuda_stream *stream, gb_cuda_error *e); /* non-blocking */
void gb_cuda_destroy_stream(int device, gb_cuda_stream stream);

/* Asynchronous work of gridbuf on a block, on any device. While it is in flight the block is
 * exported with its stream, and not handed out again on another stream. */
int gb_cuda_record_use(gb_cuda_block *block, gb_cuda_queue on, gb_cuda_error *e);
int gb_cuda_in_flight(gb_cuda_block *block, gb_cuda_stream *stream,
                      gb_cuda_error *e); /* 1 with a stream of the block's device, 0, -1 */
int gb_cuda_stream_wait_block(gb_cuda_block *block, gb_cuda_queue on,
                              gb_cuda_error *e); /* later work on it waits for work in flight */
int gb_cuda_synchronize_block(gb_cuda_block *block,
                              gb_cuda_error *e); /* the host waits for what is in flight */

/* ---- allocators of other libraries (gridbuf.interop) ---- */

/* Signatures are those libraries' own, and fixed. Any thread may call. */

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
