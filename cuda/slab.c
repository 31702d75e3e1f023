/* slab.c: new memory for a pool, and what happens when there is none: what nobody uses is
 * given back, and the driver is asked once more. */
#include "blocks.h"

#include "../alloc/bound.h"
#include "../alloc/map.h"

static int out_of_memory(gb_cu_pool *pool, int64_t bytes, gb_cuda_error *e) {
    static const char *const names[] = {"GPU", "pinned", "managed"};
    gb_cuda_stats s;
    size_t vacant = 0, total = 0;
    char room[5][32], rest[160] = "";
    gb_cuda_get_stats(pool->kind, pool->device, &s);
    if (pool->kind != GB_CUDA_PINNED && gb_cu.cuMemGetInfo_v2(&vacant, &total) == CUDA_SUCCESS)
        snprintf(rest, sizeof rest, ", and %s of the %s of GPU %d are free",
                 gb_cu_size(room[3], (int64_t)vacant), gb_cu_size(room[4], (int64_t)total),
                 pool->device);
    gb_cuda_error driver = *e;
    gb_cu_fail(e, GB_CUDA_NO_MEMORY,
               "out of %s memory: %s were asked for; %lld gridbuf buffers hold %s, %s are "
               "cached%s. %.200s",
               names[pool->kind], gb_cu_size(room[0], bytes), (long long)s.live_buffers,
               gb_cu_size(room[1], s.live_bytes), gb_cu_size(room[2], s.cached_bytes), rest,
               driver.text);
    e->code = CUDA_ERROR_OUT_OF_MEMORY;
    return -1;
}

/* Managed memory beyond what the GPU has free would be moved to and fro with every use. */
static int ask(gb_cu_pool *pool, gb_cu_device *d, int64_t bytes, int ordered, gb_cuda_stream stream,
               gb_cu_raw *raw, gb_cuda_error *e) {
    size_t vacant = 0, total = 0;
    if (pool->kind == GB_CUDA_MANAGED) {
        if (GB_CU(e, cuMemGetInfo_v2, &vacant, &total)) return -1;
        if ((uint64_t)bytes > vacant)
            return gb_cu_fail(e, GB_CUDA_NO_MEMORY,
                              "Managed memory is not taken beyond what the GPU has free");
    }
    return gb_cu_alloc_raw(d, pool->kind, bytes, ordered, stream, raw, e);
}

static int get_raw(gb_cu_pool *pool, gb_cu_device *d, int64_t bytes, int ordered,
                   gb_cuda_stream stream, gb_cu_raw *raw, gb_cuda_error *e) {
    gb_cuda_error own = {0};
    if (!e) e = &own;
    if (bytes > (pool->kind == GB_CUDA_PINNED
                     ? gb_heap_physical_memory()
                     : d->total_bytes)) { /* no reason to empty the cache */
        gb_cu_fail(e, GB_CUDA_NO_MEMORY, "There is not that much in the machine");
        return out_of_memory(pool, bytes, e);
    }
    if (ask(pool, d, bytes, ordered, stream, raw, e) == 0) return 0;
    if (e->status != GB_CUDA_NO_MEMORY) return -1;
    for (int kind = 0; kind < GB_CUDA_KINDS; kind++)
        if ((kind == GB_CUDA_PINNED) == (pool->kind == GB_CUDA_PINNED))
            gb_cuda_trim(kind, pool->device, 0);
    gb_cu_wait_device(pool->device, NULL); /* stream-ordered frees take effect */
    if (ask(pool, d, bytes, ordered, stream, raw, e) == 0) return 0;
    return e->status == GB_CUDA_NO_MEMORY ? out_of_memory(pool, bytes, e) : -1;
}

static int32_t blocks_in_slab(int64_t size) {
    if (size > GB_CU_SMALL_MAX) return 1;
    return size * 32 < GB_CU_SMALL_MAX ? (int32_t)(GB_CU_SMALL_MAX / size) : 32;
}

gb_cu_slab *gb_cu_new_slab(gb_cu_pool *pool, int64_t size, gb_cu_key key, gb_cuda_stream stream,
                           gb_cuda_error *e) {
    int32_t count = blocks_in_slab(size);
    gb_cu_slab *slab = calloc(1, sizeof *slab + (size_t)count * sizeof *slab->records);
    if (!slab)
        return gb_cu_fail(e, GB_CUDA_NO_MEMORY, "no host memory for the records of a block"), NULL;
    gb_cu_device *d = gb_cu_enter(pool->device, e);
    gb_cu_raw raw;
    int bad = !d;
    if (d) {
        bad = get_raw(pool, d, size * count, count == 1 && key != GB_CU_UNKNOWN, stream, &raw, e);
        gb_cu_leave();
    }
    if (bad) return free(slab), NULL;
    slab->pool = pool;
    slab->base = raw.base;
    slab->ordered = raw.ordered;
    slab->size = size;
    slab->bytes = size * count;
    slab->count = count;
    for (int i = 0; i < count; i++) {
        gb_cu_record *r = &slab->records[i];
        r->slab = slab;
        r->base = slab->base + (uint64_t)(i * size);
        r->size = size;
        r->key = GB_CU_NOBODY;
        r->block.kind = pool->kind;
        r->block.device = pool->device;
    }
    pthread_mutex_lock(pool->lock);
    if (!pool->ready) {
        pool->ready = 1;
        pool->stats.cache_bound =
            pool->kind == GB_CUDA_PINNED ? gb_heap_memory_share("") / 2 : d->total_bytes / 8;
    }
    pool->held_bytes += slab->bytes;
    pool->asked_bytes -= size;
    pool->stats.misses++;
    gb_cu_cache_push(pool, slab);
    for (int i = count - 1; i >= 0; i--) gb_cu_bin_push(pool, &slab->records[i]);
    gb_cu_use(pool, &slab->records[0]);
    pthread_mutex_unlock(pool->lock);
    return slab;
}
