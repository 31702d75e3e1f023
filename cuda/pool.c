/* pool.c: taking and releasing blocks. A block that comes from its stream's own free ones
 * costs no call of the driver, nor does letting it go. */
#include "blocks.h"
#include "fork.h"

#include "../alloc/heap.h"
#include "../alloc/map.h"

#define CANDIDATES 8 /* blocks of other streams that are asked about before a new one is made */
#define HUGE_SPAN ((int64_t)1 << 60)

static int check(const gb_cuda_request *w, gb_cuda_error *e) {
    if (w->kind < 0 || w->kind >= GB_CUDA_KINDS)
        return gb_cu_fail(e, GB_CUDA_ARGUMENT, "kind is %d, not device, pinned or managed",
                          w->kind);
    if (w->span < 0 || w->boundary < 1 || w->offset < 0 || w->offset >= w->boundary)
        return gb_cu_fail(e, GB_CUDA_ARGUMENT,
                          "span %lld, boundary %lld and offset %lld do not go together",
                          (long long)w->span, (long long)w->boundary, (long long)w->offset);
    if (w->span > HUGE_SPAN || w->boundary > HUGE_SPAN)
        return gb_cu_fail(e, GB_CUDA_NO_MEMORY, "%lld bytes are more than any memory has",
                          (long long)(w->span > HUGE_SPAN ? w->span : w->boundary));
    return 0;
}

static int64_t reserve(const gb_cuda_request *w) {
    int simple = w->boundary <= GB_CU_ALIGN && (w->boundary & (w->boundary - 1)) == 0;
    int64_t need =
        w->span + (simple ? w->offset : w->boundary - 1) + (gb_debugging ? GB_CU_GUARD : 0);
    return gb_cu_round(need > 0 ? need : 1);
}

static uint64_t aligned(const gb_cuda_request *w, uint64_t base) {
    uint64_t b = (uint64_t)w->boundary, off = (uint64_t)w->offset;
    return base + (off + b - base % b) % b;
}

/* ---- which free block may go to whom; the caller holds the lock ---- */

static int at_once(gb_cu_record *r, gb_cu_key key, int kind) {
    if ((r->key != key || key == GB_CU_UNKNOWN) && r->key != GB_CU_NOBODY) return 0;
    if (kind == GB_CUDA_PINNED) return !r->in_flight;
    if (kind == GB_CUDA_MANAGED && r->key != GB_CU_NOBODY)
        return 0; /* the host writes without asking a stream */
    for (gb_cuda_event *event = r->in_flight; event; event = event->next)
        if (event->key != key || event->on.device != r->block.device || key == GB_CU_UNKNOWN ||
            kind == GB_CUDA_MANAGED)
            return 0;
    return 1;
}

/* With the context current. A stream that is somebody else's may have been destroyed since:
 * it is not touched, and its blocks wait for all streams. */
static int ask_device(gb_cu_record *r, gb_cu_device *d, int device) {
    if (gb_cu_epoch(device) > r->epoch) return 0;
    int known = r->key == GB_CU_LEGACY || gb_cu_is_ours(device, r->key);
    gb_cuda_event *event = known ? gb_cu_record_event((gb_cuda_queue){device, r->stream}, NULL)
                                 : gb_cu_record_all(d, device);
    if (!event) return -1;
    event->next = r->in_flight;
    r->in_flight = event;
    return 0;
}

static int ask_all(gb_cu_record *r) {
    int rc = 0;
    for (int device = 0; device < GB_CUDA_MAX_DEVICES && rc == 0; device++) {
        if (!gb_cu_retained(device)) continue;
        gb_cu_device *d = gb_cu_enter(device, NULL);
        rc = d ? ask_device(r, d, device) : -1;
        if (d) gb_cu_leave();
    }
    return rc;
}

static int is_free_now(gb_cu_record *r, gb_cu_device *d, gb_cu_pool *pool) {
    if (r->key != GB_CU_NOBODY) {
        if ((gb_cu_anywhere(r) ? ask_all(r) : ask_device(r, d, pool->device)) < 0) return 0;
    }
    r->key = GB_CU_NOBODY;
    return gb_cu_all_done(&r->in_flight);
}

static gb_cu_record *find(gb_cu_pool *pool, int64_t size, gb_cu_key key) {
    gb_cu_record *first = pool->bins[gb_cu_bin(size)], *r;
    int others = 0;
    for (r = first; r; r = r->next)
        if (r->size == size) {
            if (at_once(r, key, pool->kind)) return r;
            others++;
        }
    gb_cu_device *d = others ? gb_cu_enter(pool->device, NULL) : NULL;
    if (!d) return NULL;
    gb_cu_record *found = NULL;
    for (r = first, others = 0; r && !found && others < CANDIDATES; r = r->next)
        if (r->size == size && (others++, is_free_now(r, d, pool))) found = r;
    gb_cu_leave();
    return found;
}

static void put_back(gb_cu_pool *pool, gb_cu_record *r) {
    gb_cu_bin_push(pool, r);
    if (--r->slab->used == 0) gb_cu_cache_push(pool, r->slab);
    pool->stats.live_buffers--;
    pool->stats.live_bytes -= r->size;
}

/* ---- take and release ---- */

static int over_limit(gb_cu_pool *pool, int64_t size, int64_t live, int64_t limit,
                      gb_cuda_error *e) {
    char asked[32], held[32], allowed[32], where[48] = "of pinned memory";
    if (pool->kind != GB_CUDA_PINNED)
        snprintf(where, sizeof where, "%son GPU %d",
                 pool->kind == GB_CUDA_MANAGED ? "of managed memory " : "", pool->device);
    return gb_cu_fail(
        e, GB_CUDA_OVER_LIMIT, "%s would exceed the limit: %s are in use and %s are allowed %s",
        gb_cu_size(asked, size), gb_cu_size(held, live), gb_cu_size(allowed, limit), where);
}

static void undo(gb_cu_pool *pool, gb_cu_record *r, int64_t size) {
    pthread_mutex_lock(pool->lock);
    if (r) pool->stats.allocations--, put_back(pool, r);
    else pool->asked_bytes -= size;
    pthread_mutex_unlock(pool->lock);
}

int gb_cu_alloc(const gb_cuda_request *request, int any_stream, gb_cuda_block **block,
                gb_cuda_error *e) {
    *block = NULL;
    if (gb_cu_in_child) return gb_cu_after_fork(e);
    gb_cu_pool *pool = NULL;
    if (check(request, e)) return -1;
    int count;
    if (__builtin_expect(!gb_cuda_started(), 0) && gb_cuda_count(&count, e)) return -1;
    if (!(pool = gb_cu_pool_of(request->kind, request->device)))
        return gb_cu_no_device(request->device, e);
    int64_t size = reserve(request);
    gb_cu_key key = any_stream                        ? GB_CU_UNKNOWN
                    : request->kind == GB_CUDA_PINNED ? GB_CU_LEGACY
                                                      : gb_cu_key_of(request->stream);

    pthread_mutex_lock(pool->lock);
    int64_t live = pool->stats.live_bytes + pool->asked_bytes, limit = pool->stats.limit;
    if (__builtin_expect(limit >= 0 && live + size > limit, 0))
        return pthread_mutex_unlock(pool->lock), over_limit(pool, size, live, limit, e);
    gb_cu_record *r = find(pool, size, key);
    if (r) gb_cu_use(pool, r);
    else pool->asked_bytes += size;
    pthread_mutex_unlock(pool->lock);
    if (!r) {
        gb_cu_slab *slab = gb_cu_new_slab(pool, size, key, request->stream, e);
        if (!slab) return undo(pool, NULL, size), -1;
        r = &slab->records[0];
    }
    r->block.data = aligned(request, r->base);
    r->block.bytes = (int64_t)(r->base + (uint64_t)size - r->block.data);
    r->block.id = gb_heap_new_id();
    r->block.shown = any_stream;
    r->stream = request->kind == GB_CUDA_PINNED ? 0 : request->stream;
    r->key = key;
    r->span = request->span;
    r->plan = request->plan;
    r->born = gb_heap_seconds();
    r->shares = 1;
    r->live = GB_HEAP_LIVE;
    if ((__builtin_expect(gb_debugging, 0) && gb_cu_debug_taken(r, e)) ||
        (gb_cu_live_add(r) &&
         gb_cu_fail(e, GB_CUDA_NO_MEMORY, "no host memory for the table of blocks"))) {
        undo(pool, r, size);
        return -1;
    }
    *block = &r->block;
    return 0;
}

int gb_cuda_alloc(const gb_cuda_request *request, gb_cuda_block **block, gb_cuda_error *e) {
    return gb_cu_alloc(request, 0, block, e);
}

void gb_cuda_share(gb_cuda_block *block) {
    __atomic_add_fetch(&((gb_cu_record *)block)->shares, 1, __ATOMIC_RELAXED);
}

void gb_cuda_release(gb_cuda_block *block) {
    gb_cu_record *r = (gb_cu_record *)block;
    if (__builtin_expect(r->live != GB_HEAP_LIVE, 0)) abort(); /* freed twice, or not ours */
    if (__atomic_sub_fetch(&r->shares, 1, __ATOMIC_ACQ_REL) > 0 || gb_cu_in_child) return;
    gb_cu_pool *pool = r->slab->pool;
    gb_cu_live_remove(r);
    if (__builtin_expect(gb_debugging, 0)) gb_cu_debug_released(r);
    pthread_mutex_lock(pool->lock);
    r->live = GB_HEAP_FREED;
    r->epoch = gb_cu_now_epoch();
    put_back(pool, r);
    int64_t bound = pool->stats.cache_bound;
    int full = pool->idle_bytes > bound;
    pthread_mutex_unlock(pool->lock);
    if (full) gb_cuda_trim(pool->kind, pool->device, bound);
}
