/* statistics.c: counters and bounds. */
#include "blocks.h"

void gb_cuda_get_stats(int kind, int device, gb_cuda_stats *out) {
    memset(out, 0, sizeof *out);
    out->limit = -1;
    gb_cu_pool *pool = gb_cu_pool_of(kind, device);
    if (!pool) return;
    pthread_mutex_lock(pool->lock);
    *out = pool->stats;
    out->cached_bytes = pool->held_bytes - pool->stats.live_bytes;
    pthread_mutex_unlock(pool->lock);
    out->hits = out->allocations - out->misses;
}

void gb_cuda_set_limit(int kind, int device, int64_t bytes) {
    gb_cu_pool *pool = gb_cu_pool_of(kind, device);
    if (!pool) return;
    pthread_mutex_lock(pool->lock);
    pool->stats.limit = bytes < 0 ? -1 : bytes;
    pthread_mutex_unlock(pool->lock);
}

void gb_cuda_set_cache_bound(int kind, int device, int64_t bytes) {
    gb_cu_pool *pool = gb_cu_pool_of(kind, device);
    if (!pool) return;
    pthread_mutex_lock(pool->lock);
    pool->ready = 1;
    pool->stats.cache_bound = bytes < 0 ? 0 : bytes;
    pthread_mutex_unlock(pool->lock);
    gb_cuda_trim(kind, device, bytes);
}
