/* pools.c: one pool for each kind of memory and device, made when it is first asked for. */
#include "blocks.h"
#include "fork.h"

static gb_cu_pool *pools[GB_CUDA_KINDS][GB_CUDA_MAX_DEVICES];

gb_cu_pool *gb_cu_pool_of(int kind, int device) {
    if (kind < 0 || kind >= GB_CUDA_KINDS) return NULL;
    if (kind == GB_CUDA_PINNED) device = 0;
    if (device < 0 || device >= GB_CUDA_MAX_DEVICES) return NULL;
    gb_cu_pool *pool = __atomic_load_n(&pools[kind][device], __ATOMIC_ACQUIRE);
    if (pool || gb_cu_in_child) return pool;
    pthread_mutex_lock(&gb_cu_making);
    pool = pools[kind][device];
    if (!pool && (pool = calloc(1, sizeof *pool))) {
        pool->lock = &gb_cu_pool_locks[kind][device];
        pool->kind = kind;
        pool->device = device;
        pool->stats.limit = -1;
        __atomic_store_n(&pools[kind][device], pool, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&gb_cu_making);
    return pool;
}
