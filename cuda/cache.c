/* cache.c: free blocks, slabs that nobody uses, and giving them back. */
#include "blocks.h"

/* Eight classes a doubling: at most an eighth is lost. Above 16 MiB whole large pages of
 * the device, which the driver would take anyway. */
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

/* The devices whose work the driver's own free does not wait for: cuMemFree waits for the memory's
 * own device, stream-ordered and pinned memory for none. A bit for each. */
static uint64_t busy(gb_cu_slab *slab) {
    int own = slab->pool->device, waits = !slab->ordered && slab->pool->kind != GB_CUDA_PINNED;
    uint64_t devices = 0;
    for (int i = 0; i < slab->count; i++) {
        gb_cu_record *r = &slab->records[i];
        gb_cu_all_done(&r->in_flight);
        for (gb_cuda_event *event = r->in_flight; event; event = event->next)
            devices |= (uint64_t)1 << event->on.device;
        if (r->key == GB_CU_NOBODY || r->key == GB_CU_LEGACY) continue;
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
        gb_cu_wait_devices(busy(gone), NULL); /* the next ones find it done */
        for (int i = 0; i < gone->count; i++) gb_cu_forget(&gone->records[i].in_flight);
        gb_cu_free_raw(gone->pool->kind, (gb_cu_raw){gone->base, gone->ordered});
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
    int entered = gb_cu_enter_to_release(pool->device) !=
                  NULL; /* if not, the driver is gone, and says so to each call */
    int64_t bytes = destroy(gone);
    if (entered) gb_cu_leave();
    return bytes;
}
