/* slab.c: pools, slabs of the driver's memory, their free blocks, and the cache of idle slabs. */
#include "blocks.h"

#include "../alloc/heap.h"
#include "../alloc/system.h"

/* ---- one pool for each kind of memory and device, made at its first use ---- */

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

/* ---- allocations of the driver ---- */

#define PORTABLE 1      /* CU_MEMHOSTALLOC_PORTABLE: pinned for every context */
#define ATTACH_GLOBAL 1 /* CU_MEM_ATTACH_GLOBAL */

typedef struct allocation {
    uint64_t base;
    int32_t ordered; /* by cuMemAllocAsync */
} allocation;

/* The context is current. */
static int raw_alloc(gb_cu_device *d, int kind, int64_t bytes, int ordered, gb_cuda_stream stream,
                     allocation *raw, gb_cuda_error *e) {
    CUdeviceptr address = 0;
    void *pinned = NULL;
    int bad;
    *raw = (allocation){0};
    switch (kind) {
    case GB_CUDA_PINNED:
        bad = GB_CU(e, cuMemHostAlloc, &pinned, (size_t)bytes, PORTABLE);
        address = (CUdeviceptr)(uintptr_t)pinned;
        break;
    case GB_CUDA_MANAGED:
        bad = GB_CU(e, cuMemAllocManaged, &address, (size_t)bytes, ATTACH_GLOBAL);
        break;
    default:
        raw->ordered = ordered && d->memory_pools;
        bad = raw->ordered
                  ? GB_CU(e, cuMemAllocAsync, &address, (size_t)bytes, (CUstream)(uintptr_t)stream)
                  : GB_CU(e, cuMemAlloc_v2, &address, (size_t)bytes);
    }
    raw->base = address;
    return bad;
}

/* Errors are ignored: at process exit the driver may be gone already (CUDA_ERROR_DEINITIALIZED,
 * CUDA_ERROR_CONTEXT_IS_DESTROYED), and the memory with it. */
static void raw_free(int kind, allocation raw) {
    if (kind == GB_CUDA_PINNED) gb_cu.cuMemFreeHost((void *)(uintptr_t)raw.base);
    else if (raw.ordered) gb_cu.cuMemFreeAsync(raw.base, NULL);
    else gb_cu.cuMemFree_v2(raw.base); /* waits for what the device is doing */
}

/* ---- counters and bounds ---- */

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

/* ---- free blocks and the cache of idle slabs ---- */

/* Eight size classes per doubling: at most an eighth is lost. Above 16 MiB whole large pages of the
 * device, as the driver rounds anyway. */
int64_t gb_cu_round(int64_t need) {
    if (need <= 8 * GB_CU_GRAIN) return (need + GB_CU_GRAIN - 1) & -(int64_t)GB_CU_GRAIN;
    int log = 63 - __builtin_clzll((uint64_t)(need - 1));
    int64_t step = (int64_t)1 << (log - 3 < 21 ? log - 3 : 21);
    return (need + step - 1) & -step;
}

int gb_cu_bin(int64_t size) {
    return (int)(((uint64_t)size / GB_CU_GRAIN) * 0x9E3779B97F4A7C15u >> 57);
}

void gb_cu_bin_push(gb_cu_pool *pool, gb_cu_record *r) {
    gb_cu_record **first = &pool->bins[gb_cu_bin(r->size)];
    r->prev = NULL;
    r->next = *first;
    if (*first) (*first)->prev = r;
    *first = r;
}

static void bin_remove(gb_cu_pool *pool, gb_cu_record *r) {
    if (r->prev) r->prev->next = r->next;
    else pool->bins[gb_cu_bin(r->size)] = r->next;
    if (r->next) r->next->prev = r->prev;
}

void gb_cu_cache_push(gb_cu_pool *pool, gb_cu_slab *slab) {
    slab->newer = NULL;
    slab->older = pool->newest;
    if (pool->newest) pool->newest->newer = slab;
    else pool->oldest = slab;
    pool->newest = slab;
    pool->idle_bytes += slab->bytes;
}

static void cache_remove(gb_cu_pool *pool, gb_cu_slab *slab) {
    if (slab->newer) slab->newer->older = slab->older;
    else pool->newest = slab->older;
    if (slab->older) slab->older->newer = slab->newer;
    else pool->oldest = slab->newer;
    pool->idle_bytes -= slab->bytes;
}

void gb_cu_use(gb_cu_pool *pool, gb_cu_record *r) {
    bin_remove(pool, r);
    if (r->slab->used++ == 0) cache_remove(pool, r->slab);
    gb_cu_forget(&r->in_flight); /* on the same stream: nothing to wait for */
    gb_cuda_stats *s = &pool->stats;
    s->allocations++;
    s->live_buffers++;
    s->live_bytes += r->size;
    if (s->live_bytes > s->peak_bytes) s->peak_bytes = s->live_bytes;
}

static gb_cu_slab *evict(gb_cu_pool *pool, int64_t keep) {
    gb_cu_slab *gone = NULL;
    while (pool->oldest && pool->idle_bytes > keep) {
        gb_cu_slab *slab = pool->oldest;
        cache_remove(pool, slab);
        for (int i = 0; i < slab->count; i++) bin_remove(pool, &slab->records[i]);
        pool->held_bytes -= slab->bytes;
        slab->older = gone;
        gone = slab;
    }
    return gone;
}

/* Devices to wait for before the slab is freed, one bit each: cuMemFree waits for the memory's own
 * device only, the free of stream-ordered and pinned memory for none. */
static uint64_t busy(gb_cu_slab *slab) {
    int own = slab->pool->device, waits = !slab->ordered && slab->pool->kind != GB_CUDA_PINNED;
    uint64_t devices = 0;
    for (int i = 0; i < slab->count; i++) {
        gb_cu_record *r = &slab->records[i];
        gb_cu_all_done(&r->in_flight);
        for (gb_cuda_event *event = r->in_flight; event; event = event->next)
            devices |= (uint64_t)1 << event->on.device;
        if (r->key == GB_CU_IDLE || r->key == GB_CU_LEGACY) continue;
        int anywhere = gb_cu_anywhere(r);
        for (int device = anywhere ? 0 : own; device < (anywhere ? GB_CUDA_MAX_DEVICES : own + 1);
             device++)
            if (gb_cu_retained(device) && gb_cu_epoch(device) <= r->epoch)
                devices |= (uint64_t)1 << device;
    }
    return waits ? devices & ~((uint64_t)1 << own) : devices;
}

static int64_t destroy(gb_cu_slab *gone) {
    int64_t bytes = 0;
    while (gone) {
        gb_cu_slab *next = gone->older;
        gb_cu_wait_devices(busy(gone), NULL);
        for (int i = 0; i < gone->count; i++) gb_cu_forget(&gone->records[i].in_flight);
        raw_free(gone->pool->kind, (allocation){gone->base, gone->ordered});
        bytes += gone->bytes;
        free(gone);
        gone = next;
    }
    return bytes;
}

int64_t gb_cuda_trim(int kind, int device, int64_t keep) {
    gb_cu_pool *pool = gb_cu_pool_of(kind, device);
    if (!pool || !gb_cuda_started()) return 0;
    pthread_mutex_lock(pool->lock);
    gb_cu_slab *gone = evict(pool, keep < 0 ? 0 : keep);
    pthread_mutex_unlock(pool->lock);
    if (!gone) return 0;
    /* NULL: the driver is gone, and every call of it fails. */
    int entered = gb_cu_enter_to_release(pool->device) != NULL;
    int64_t bytes = destroy(gone);
    if (entered) gb_cu_leave();
    return bytes;
}

/* ---- new slabs ---- */

/* Without memory the idle slabs are given back, and the driver is asked once more. */

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

/* Managed memory beyond the GPU's free memory would move to and fro with every use. */
static int ask(gb_cu_pool *pool, gb_cu_device *d, int64_t bytes, int ordered, gb_cuda_stream stream,
               allocation *raw, gb_cuda_error *e) {
    size_t vacant = 0, total = 0;
    if (pool->kind == GB_CUDA_MANAGED) {
        if (GB_CU(e, cuMemGetInfo_v2, &vacant, &total)) return -1;
        if ((uint64_t)bytes > vacant)
            return gb_cu_fail(e, GB_CUDA_NO_MEMORY,
                              "Managed memory is not taken beyond what the GPU has free");
    }
    return raw_alloc(d, pool->kind, bytes, ordered, stream, raw, e);
}

static int get_raw(gb_cu_pool *pool, gb_cu_device *d, int64_t bytes, int ordered,
                   gb_cuda_stream stream, allocation *raw, gb_cuda_error *e) {
    gb_cuda_error own = {0};
    if (!e) e = &own;
    int64_t most = pool->kind == GB_CUDA_PINNED ? gb_heap_physical_memory() : d->total_bytes;
    if (bytes > most) { /* emptying the cache would not help */
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
    if (!slab) {
        gb_cu_fail(e, GB_CUDA_NO_MEMORY, "no host memory for the records of a block");
        return NULL;
    }
    gb_cu_device *d = gb_cu_enter(pool->device, e);
    allocation raw;
    int bad = !d;
    if (d) {
        bad = get_raw(pool, d, size * count, count == 1 && key != GB_CU_UNKNOWN, stream, &raw, e);
        gb_cu_leave();
    }
    if (bad) {
        free(slab);
        return NULL;
    }
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
        r->key = GB_CU_IDLE;
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
