/* blocks.h: what pools, slabs and blocks are, and the ground that cache.c, slab.c and pool.c stand
 * on.
 *
 * A slab is one allocation by the driver: a single large block, or many blocks of one
 * small size class. Each block has a record in host memory; device memory itself is never
 * looked at. A free block waits in its pool's bin, under the key of the stream that used
 * it: that stream gets it back at once, because whatever it does next comes after what it
 * did before. Another one gets it only when the first is known to be through with it. A slab
 * with no block in use is cache, given back the least recently used first.
 */
#pragma once

#include "../alloc/process.h"
#include "context.h"

#include <pthread.h>

#define GB_CU_GRAIN 512                     /* blocks are multiples of this */
#define GB_CU_ALIGN 256                     /* what every raw allocation is aligned to */
#define GB_CU_SMALL_MAX ((int64_t)64 << 10) /* largest block that shares a slab */
#define GB_CU_BINS 128

typedef struct gb_cu_record gb_cu_record;
typedef struct gb_cu_slab gb_cu_slab;
typedef struct gb_cu_pool gb_cu_pool;

/* Which stream, so that two that are not the same never compare equal. */
typedef uint64_t gb_cu_key;
#define GB_CU_LEGACY ((gb_cu_key)0)
#define GB_CU_NOBODY (~(gb_cu_key)0)      /* nobody's work is in flight: any stream may have it */
#define GB_CU_UNKNOWN (~(gb_cu_key)0 - 1) /* any streams, or one that is no more */

/* Events: ours on a block (inflight.c) hang on a list, newest first. */
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

/* Pinned and managed memory serve all devices, and where nobody says which used it, all are asked.
 */
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
    int64_t asked_bytes; /* the driver is being asked for; they count against the limit */
    gb_cuda_stats stats;
};

/* ---- cache.c; those that say so want the pool's lock ---- */
void gb_cu_use(gb_cu_pool *pool, gb_cu_record *r);         /* lock; a free block is free no more */
void gb_cu_bin_push(gb_cu_pool *pool, gb_cu_record *r);    /* lock */
void gb_cu_cache_push(gb_cu_pool *pool, gb_cu_slab *slab); /* lock */
int gb_cu_bin(int64_t size);
int64_t gb_cu_round(int64_t need);

/* ---- slab.c: new memory; its first block is in use, and counted; without the lock ---- */
gb_cu_slab *gb_cu_new_slab(gb_cu_pool *pool, int64_t size, gb_cu_key key, gb_cuda_stream stream,
                           gb_cuda_error *e);

/* ---- pool.c: gb_cuda_alloc; any_stream: nobody says which streams will use it ---- */
int gb_cu_alloc(const gb_cuda_request *request, int any_stream, gb_cuda_block **block,
                gb_cuda_error *e);

/* ---- pools.c ---- */
gb_cu_pool *gb_cu_pool_of(int kind, int device); /* NULL: there is no such kind or device */

/* ---- event.c ---- */
gb_cu_key gb_cu_key_of(gb_cuda_stream stream);
/* With the context current. */
gb_cuda_event *gb_cu_record_event(gb_cuda_queue on, gb_cuda_error *e);
gb_cuda_event *gb_cu_record_all(gb_cu_device *d,
                                int device); /* of all streams; NULL: the driver cannot */
int gb_cu_in_order(const gb_cuda_event *event,
                   gb_cuda_queue on);       /* what comes on it is behind the event in any case */
int gb_cu_all_done(gb_cuda_event **events); /* forgets those that are; whether none is left */
void gb_cu_forget(gb_cuda_event **events);  /* all of them */

/* ---- stream.c ---- */
int gb_cu_is_ours(
    int device,
    gb_cu_key key); /* a stream of gb_cuda_create_stream: it lives until it is destroyed */

/* ---- upstream.c: raw allocations, with the context current ---- */
typedef struct gb_cu_raw {
    uint64_t base;
    int32_t ordered;
} gb_cu_raw;
int gb_cu_alloc_raw(gb_cu_device *d, int kind, int64_t bytes, int ordered, gb_cuda_stream stream,
                    gb_cu_raw *raw, gb_cuda_error *e);
void gb_cu_free_raw(int kind, gb_cu_raw raw);

/* ---- epoch.c ---- */

/* Everything that a device was asked to do before this epoch began is done. */
uint64_t gb_cu_epoch(int device);
uint64_t gb_cu_now_epoch(void); /* to be compared with a later gb_cu_epoch, of any device */
int gb_cu_wait_device(int device,
                      gb_cuda_error *e); /* with the context current; a new epoch begins */
int gb_cu_wait_devices(uint64_t devices,
                       gb_cuda_error *e); /* a bit for each; all of them, whatever one says */

/* ---- live.c ---- */
int gb_cu_live_add(gb_cu_record *r); /* -1: no host memory */
void gb_cu_live_remove(gb_cu_record *r);
gb_cu_record *gb_cu_live_next(gb_cu_record *r); /* lock; NULL begins */

/* ---- debug.c, with GRIDBUF_DEBUG=1, the context current ---- */
#define GB_CU_GUARD 512 /* at least so many bytes behind a block */
int gb_cu_debug_taken(gb_cu_record *r, gb_cuda_error *e);
void gb_cu_debug_released(gb_cu_record *r);
