/* blocks.h: pools, slabs and blocks of device, pinned and managed memory.
 *
 * A slab is one allocation by the driver: a single large block, or many blocks of one small size
 * class. Each block has a record in host memory; device memory itself is never read. A free block
 * waits in its pool's bin, under the key of the stream that used it: that stream gets it back at
 * once, because its next work comes after its last. Another stream gets it only when the first is
 * known to have finished with it. A slab without a block in use is cache, given back the least
 * recently used first. */
#pragma once

#include "driver.h"

#include "../alloc/system.h"

#include <pthread.h>

#define GB_CU_GRAIN 512                     /* blocks are multiples of this */
#define GB_CU_ALIGN 256                     /* alignment of every raw allocation */
#define GB_CU_SMALL_MAX ((int64_t)64 << 10) /* largest block that shares a slab */
#define GB_CU_BINS 128

typedef struct gb_cu_record gb_cu_record;
typedef struct gb_cu_slab gb_cu_slab;
typedef struct gb_cu_pool gb_cu_pool;

/* A stream, so that two different ones never compare equal. */
typedef uint64_t gb_cu_key;
#define GB_CU_LEGACY ((gb_cu_key)0)
#define GB_CU_IDLE (~(gb_cu_key)0)        /* no work in flight: any stream may have the block */
#define GB_CU_UNKNOWN (~(gb_cu_key)0 - 1) /* any streams, or a destroyed one */

/* Events of a block (order.c) are a list, newest first. */
struct gb_cuda_event {
    gb_cuda_event *next;
    CUevent handle;
    gb_cuda_queue on;
    gb_cu_key key;
    int32_t done;
};

struct gb_cu_record {
    gb_cuda_block block; /* first: it is what callers hold */
    gb_cu_slab *slab;
    uint64_t base;
    int64_t size, span, born;
    uint64_t plan;
    gb_cuda_stream stream;
    gb_cu_key key;
    gb_cuda_event *in_flight;  /* asynchronous work that may still use it */
    uint64_t epoch;            /* when it was freed */
    gb_cu_record *next, *prev; /* in its bin while free; in the table of live blocks while used */
    int32_t shares;            /* atomic */
    uint32_t live;
};

/* Pinned and managed memory serve all devices: without a known stream all devices are asked. */
static inline int gb_cu_anywhere(const gb_cu_record *r) {
    return r->key == GB_CU_UNKNOWN && r->block.kind != GB_CUDA_DEVICE;
}

struct gb_cu_slab {
    gb_cu_pool *pool;
    gb_cu_slab *newer, *older; /* in the cache, while no block is in use */
    uint64_t base;
    int64_t bytes, size;
    int32_t count, used;
    int32_t ordered; /* came from cuMemAllocAsync */
    gb_cu_record records[];
};

struct gb_cu_pool {
    pthread_mutex_t *lock;
    int32_t kind, device;
    int32_t ready; /* the bound on its cache is known */
    gb_cu_record *bins[GB_CU_BINS];
    gb_cu_slab *newest, *oldest;
    int64_t idle_bytes, held_bytes;
    int64_t asked_bytes; /* being asked of the driver; they count against the limit */
    gb_cuda_stats stats;
};

/* ---- order.c ---- */

/* All work that the device was given before this epoch began is done. */
uint64_t gb_cu_epoch(int device);
uint64_t gb_cu_now_epoch(void); /* compared with a later gb_cu_epoch of any device */
int gb_cu_wait_device(int device, gb_cuda_error *e); /* context current; begins a new epoch */
/* A bit for each device; waits for all of them, also after an error of one. */
int gb_cu_wait_devices(uint64_t devices, gb_cuda_error *e);

gb_cu_key gb_cu_key_of(gb_cuda_stream stream);
/* Both with the context current. The second: an event of all streams; NULL: the driver cannot. */
gb_cuda_event *gb_cu_record_event(gb_cuda_queue on, gb_cuda_error *e);
gb_cuda_event *gb_cu_record_all(gb_cu_device *d, int device);
int gb_cu_all_done(gb_cuda_event **events); /* drops finished events; whether none is left */
void gb_cu_forget(gb_cuda_event **events);  /* drops all */

/* ---- slab.c; "lock": the caller holds the pool's lock ---- */

gb_cu_pool *gb_cu_pool_of(int kind, int device);        /* NULL: there is no such kind or device */
void gb_cu_use(gb_cu_pool *pool, gb_cu_record *r);      /* lock; out of its bin, and counted */
void gb_cu_bin_push(gb_cu_pool *pool, gb_cu_record *r); /* lock */
void gb_cu_cache_push(gb_cu_pool *pool, gb_cu_slab *slab); /* lock */
int gb_cu_bin(int64_t size);
int64_t gb_cu_round(int64_t need);
/* New memory, without the lock; its first block is in use, and counted. */
gb_cu_slab *gb_cu_new_slab(gb_cu_pool *pool, int64_t size, gb_cu_key key, gb_cuda_stream stream,
                           gb_cuda_error *e);
