/* pool.c: taking and releasing blocks; the table of live blocks, guard bytes, the room's own
 * streams, and the pools as allocators of other libraries. */
#include "blocks.h"

#include "../alloc/heap.h"
#include "../alloc/system.h"

/* ---- live blocks, in a hash table by address ---- */

static gb_cu_record **table;
static size_t slots; /* a power of two */
static size_t used;

static size_t slot_of(uint64_t data, size_t of) {
    return (size_t)(data * 0x9E3779B97F4A7C15u >> 32) & (of - 1);
}

static int grow(void) {
    size_t more = slots ? slots * 2 : 256;
    gb_cu_record **bigger = calloc(more, sizeof *bigger);
    if (!bigger) return slots ? 0 : -1; /* go on with longer chains */
    for (size_t i = 0; i < slots; i++)
        for (gb_cu_record *r = table[i], *next; r; r = next) {
            gb_cu_record **to = &bigger[slot_of(r->block.data, more)];
            next = r->next;
            r->next = *to;
            *to = r;
        }
    free(table);
    table = bigger;
    slots = more;
    return 0;
}

static int live_add(gb_cu_record *r) {
    pthread_mutex_lock(&gb_cu_live_lock);
    int bad = used >= slots && grow();
    if (!bad) {
        gb_cu_record **to = &table[slot_of(r->block.data, slots)];
        r->next = *to;
        *to = r;
        used++;
    }
    pthread_mutex_unlock(&gb_cu_live_lock);
    return bad ? -1 : 0;
}

static void live_remove(gb_cu_record *r) {
    pthread_mutex_lock(&gb_cu_live_lock);
    gb_cu_record **link = &table[slot_of(r->block.data, slots)];
    while (*link != r) link = &(*link)->next;
    *link = r->next;
    used--;
    pthread_mutex_unlock(&gb_cu_live_lock);
}

/* The caller holds the lock; NULL begins. */
static gb_cu_record *live_next(gb_cu_record *r) {
    size_t i = 0;
    if (r) {
        if (r->next) return r->next;
        i = slot_of(r->block.data, slots) + 1;
    }
    while (i < slots && !table[i]) i++;
    return i < slots ? table[i] : NULL;
}

gb_cuda_block *gb_cuda_find(uint64_t data) {
    pthread_mutex_lock(&gb_cu_live_lock);
    gb_cu_record *r = slots ? table[slot_of(data, slots)] : NULL;
    while (r && r->block.data != data) r = r->next;
    pthread_mutex_unlock(&gb_cu_live_lock);
    return r ? &r->block : NULL;
}

/* A block that is being released by its last holder is not found. */
gb_cuda_block *gb_cuda_find_shared(uint64_t data) {
    pthread_mutex_lock(&gb_cu_live_lock);
    gb_cu_record *r = slots ? table[slot_of(data, slots)] : NULL;
    while (r && r->block.data != data) r = r->next;
    int32_t shares = r ? __atomic_load_n(&r->shares, __ATOMIC_RELAXED) : 0;
    while (shares > 0 && !__atomic_compare_exchange_n(&r->shares, &shares, shares + 1, 0,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {}
    pthread_mutex_unlock(&gb_cu_live_lock);
    return shares > 0 ? &r->block : NULL;
}

/* Insertion into a list sorted by size; the smallest is dropped at the end. */
static int64_t insert(gb_cuda_live *out, int64_t n, int64_t room, const gb_cu_record *r) {
    int64_t at = n;
    while (at > 0 && out[at - 1].block.bytes < r->block.bytes) at--;
    if (at == room) return n;
    memmove(&out[at + 1], &out[at], (size_t)((n < room ? n : room - 1) - at) * sizeof *out);
    out[at] =
        (gb_cuda_live){.block = r->block, .plan = r->plan, .age = gb_heap_seconds() - r->born};
    return n < room ? n + 1 : n;
}

int64_t gb_cuda_live_blocks(gb_cuda_live *out, int64_t room) {
    int64_t n = 0;
    if (room <= 0) return 0;
    pthread_mutex_lock(&gb_cu_live_lock);
    for (gb_cu_record *r = live_next(NULL); r; r = live_next(r)) n = insert(out, n, room, r);
    pthread_mutex_unlock(&gb_cu_live_lock);
    return n;
}

/* ---- GRIDBUF_DEBUG=1 ---- */

/* Poison in new and freed blocks, and guard bytes behind every block, checked at its release. Each
 * waits for the stream. */

#define GUARD 0xFD
#define POISON 0xDB
#define GUARD_BYTES 512 /* at least, behind a block */

static int set(gb_cu_record *r, uint64_t from, uint64_t to, int value, gb_cuda_error *e) {
    if (from == to) return 0;
    if (r->block.kind == GB_CUDA_PINNED) {
        memset((void *)(uintptr_t)from, value, to - from);
        return 0;
    }
    return GB_CU(e, cuMemsetD8Async, from, (unsigned char)value, to - from,
                 (CUstream)(uintptr_t)r->stream);
}

static int debug_taken(gb_cu_record *r, gb_cuda_error *e) {
    uint64_t end = r->block.data + (uint64_t)r->span;
    uint64_t last = r->base + (uint64_t)r->size;
    if (!gb_cu_enter(r->block.device, e)) return -1;
    int bad = set(r, r->base, end, POISON, e) || set(r, end, last, GUARD, e) ||
              GB_CU(e, cuStreamSynchronize, (CUstream)(uintptr_t)r->stream);
    r->block.bytes = r->span; /* the rest is the guard */
    return gb_cu_left(bad);
}

static void report(gb_cu_record *r, int64_t at) {
    char where[32] = "pinned";
    if (r->block.kind != GB_CUDA_PINNED) snprintf(where, sizeof where, "GPU %d", r->block.device);
    fprintf(stderr, "gridbuf: write past the end of %s buffer #%llu of %lld bytes, at byte %lld\n",
            where, (unsigned long long)r->block.id, (long long)r->span, (long long)at);
}

/* Waits for the whole device: the write may come from any stream, and the block's own stream may
 * have been destroyed. */
static void debug_released(gb_cu_record *r) {
    unsigned char seen[GUARD_BYTES];
    uint64_t end = r->block.data + (uint64_t)r->span;
    if (!gb_cu_enter(r->block.device, NULL)) return;
    int read = gb_cu_wait_device(r->block.device, NULL) == 0;
    if (read && r->block.kind == GB_CUDA_DEVICE)
        read = gb_cu.cuMemcpyDtoHAsync_v2(seen, end, sizeof seen, NULL) == CUDA_SUCCESS &&
               gb_cu.cuStreamSynchronize(NULL) == CUDA_SUCCESS;
    else if (read) memcpy(seen, (void *)(uintptr_t)end, sizeof seen);
    if (read) {
        size_t i = 0;
        while (i < sizeof seen && seen[i] == GUARD) i++;
        if (i < sizeof seen) report(r, r->span + (int64_t)i);
        r->stream = 0;
        r->key = GB_CU_LEGACY; /* the poison is written there */
        set(r, r->base, r->base + (uint64_t)r->size, POISON, NULL);
    }
    gb_cu_leave();
}

/* ---- streams of this room, which live until they are destroyed here ---- */

#define NON_BLOCKING 1 /* CU_STREAM_NON_BLOCKING */

static struct own {
    struct own *next;
    gb_cu_key key;
    int device;
} *own_streams;

int gb_cuda_create_stream(int device, gb_cuda_stream *stream, gb_cuda_error *e) {
    struct own *own = malloc(sizeof *own);
    if (!own) return gb_cu_fail(e, GB_CUDA_NO_MEMORY, "no host memory for a stream");
    CUstream made = NULL;
    int bad = !gb_cu_enter(device, e);
    if (!bad) {
        bad = GB_CU(e, cuStreamCreate, &made, NON_BLOCKING);
        gb_cu_leave();
    }
    if (bad) {
        free(own);
        return -1;
    }
    *stream = (gb_cuda_stream)(uintptr_t)made;
    *own = (struct own){NULL, *stream, device};
    pthread_mutex_lock(&gb_cu_streams_lock);
    own->next = own_streams;
    own_streams = own;
    pthread_mutex_unlock(&gb_cu_streams_lock);
    return 0;
}

static int is_own(int device, gb_cu_key key) {
    pthread_mutex_lock(&gb_cu_streams_lock);
    struct own *s = own_streams;
    while (s && !(s->key == key && s->device == device)) s = s->next;
    pthread_mutex_unlock(&gb_cu_streams_lock);
    return s != NULL;
}

/* The block's stream is about to be destroyed: its next user waits for an event instead. The
 * context is current. */
static void detach(gb_cu_record *r, gb_cuda_stream stream) {
    gb_cuda_event *event = gb_cu_record_event((gb_cuda_queue){r->block.device, stream}, NULL);
    r->key = event ? GB_CU_IDLE : GB_CU_UNKNOWN;
    if (!event) return;
    event->next = r->in_flight;
    r->in_flight = event;
}

static void detach_all(int device, gb_cuda_stream stream) {
    for (int kind = 0; kind < GB_CUDA_KINDS; kind++) {
        gb_cu_pool *pool = gb_cu_pool_of(kind, device);
        if (!pool || kind == GB_CUDA_PINNED) continue;
        pthread_mutex_lock(pool->lock);
        for (int bin = 0; bin < GB_CU_BINS; bin++)
            for (gb_cu_record *r = pool->bins[bin]; r; r = r->next)
                if (r->key == stream) detach(r, stream);
        pthread_mutex_lock(&gb_cu_live_lock);
        for (gb_cu_record *r = live_next(NULL); r; r = live_next(r))
            if (r->slab->pool == pool && r->key == stream) detach(r, stream);
        pthread_mutex_unlock(&gb_cu_live_lock);
        pthread_mutex_unlock(pool->lock);
    }
}

void gb_cuda_destroy_stream(int device, gb_cuda_stream stream) {
    pthread_mutex_lock(&gb_cu_streams_lock);
    struct own **link = &own_streams;
    struct own *gone;
    while ((gone = *link) && !(gone->key == stream && gone->device == device)) link = &gone->next;
    if (gone) *link = gone->next;
    pthread_mutex_unlock(&gb_cu_streams_lock);
    free(gone);
    if (!gone || gb_cu_in_child || !gb_cu_enter_to_release(device)) return;
    detach_all(device, stream);
    gb_cu.cuStreamDestroy_v2((CUstream)(uintptr_t)stream);
    gb_cu_leave();
}

/* ---- requests ---- */

#define CANDIDATES 8 /* blocks of other streams that are tried before a new one is made */
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
        w->span + (simple ? w->offset : w->boundary - 1) + (gb_debugging ? GUARD_BYTES : 0);
    return gb_cu_round(need > 0 ? need : 1);
}

static uint64_t aligned(const gb_cuda_request *w, uint64_t base) {
    uint64_t b = (uint64_t)w->boundary;
    uint64_t off = (uint64_t)w->offset;
    return base + (off + b - base % b) % b;
}

/* ---- which free block a stream may use; the caller holds the lock ---- */

static int at_once(gb_cu_record *r, gb_cu_key key, int kind) {
    if ((r->key != key || key == GB_CU_UNKNOWN) && r->key != GB_CU_IDLE) return 0;
    if (kind == GB_CUDA_PINNED) return !r->in_flight;
    /* The host writes to managed memory without regard to streams. */
    if (kind == GB_CUDA_MANAGED && r->key != GB_CU_IDLE) return 0;
    for (gb_cuda_event *event = r->in_flight; event; event = event->next)
        if (event->key != key || event->on.device != r->block.device || key == GB_CU_UNKNOWN ||
            kind == GB_CUDA_MANAGED)
            return 0;
    return 1;
}

/* Records an event behind the block's last use; the context is current. A foreign stream may have
 * been destroyed: its blocks wait for all streams of the device. */
static int ask_device(gb_cu_record *r, gb_cu_device *d, int device) {
    if (gb_cu_epoch(device) > r->epoch) return 0;
    int known = r->key == GB_CU_LEGACY || is_own(device, r->key);
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
    if (r->key != GB_CU_IDLE) {
        int rc = gb_cu_anywhere(r) ? ask_all(r) : ask_device(r, d, pool->device);
        if (rc < 0) return 0;
    }
    r->key = GB_CU_IDLE;
    return gb_cu_all_done(&r->in_flight);
}

static gb_cu_record *find(gb_cu_pool *pool, int64_t size, gb_cu_key key) {
    gb_cu_record *first = pool->bins[gb_cu_bin(size)];
    gb_cu_record *r;
    int others = 0;
    for (r = first; r; r = r->next)
        if (r->size == size) {
            if (at_once(r, key, pool->kind)) return r;
            others++;
        }
    gb_cu_device *d = others ? gb_cu_enter(pool->device, NULL) : NULL;
    if (!d) return NULL;
    gb_cu_record *found = NULL;
    others = 0;
    for (r = first; r && !found && others < CANDIDATES; r = r->next)
        if (r->size == size) {
            others++;
            if (is_free_now(r, d, pool)) found = r;
        }
    gb_cu_leave();
    return found;
}

static void put_back(gb_cu_pool *pool, gb_cu_record *r) {
    gb_cu_bin_push(pool, r);
    if (--r->slab->used == 0) gb_cu_cache_push(pool, r->slab);
    pool->stats.live_buffers--;
    pool->stats.live_bytes -= r->size;
}

/* ---- take and release: a block of the stream's own free ones costs no call of the driver ---- */

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
    if (r) {
        pool->stats.allocations--;
        put_back(pool, r);
    } else {
        pool->asked_bytes -= size;
    }
    pthread_mutex_unlock(pool->lock);
}

static int allocate(const gb_cuda_request *request, int any_stream, gb_cuda_block **block,
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
    int64_t live = pool->stats.live_bytes + pool->asked_bytes;
    int64_t limit = pool->stats.limit;
    if (__builtin_expect(limit >= 0 && live + size > limit, 0)) {
        pthread_mutex_unlock(pool->lock);
        return over_limit(pool, size, live, limit, e);
    }
    gb_cu_record *r = find(pool, size, key);
    if (r) gb_cu_use(pool, r);
    else pool->asked_bytes += size;
    pthread_mutex_unlock(pool->lock);
    if (!r) {
        gb_cu_slab *slab = gb_cu_new_slab(pool, size, key, request->stream, e);
        if (!slab) {
            undo(pool, NULL, size);
            return -1;
        }
        r = &slab->records[0];
    }
    r->block.data = aligned(request, r->base);
    r->block.bytes = (int64_t)(r->base + (uint64_t)size - r->block.data);
    r->block.id = gb_heap_new_id();
    r->block.exported = any_stream;
    r->stream = request->kind == GB_CUDA_PINNED ? 0 : request->stream;
    r->key = key;
    r->span = request->span;
    r->plan = request->plan;
    r->born = gb_heap_seconds();
    r->shares = 1;
    r->live = GB_HEAP_LIVE;
    if ((__builtin_expect(gb_debugging, 0) && debug_taken(r, e)) ||
        (live_add(r) &&
         gb_cu_fail(e, GB_CUDA_NO_MEMORY, "no host memory for the table of blocks"))) {
        undo(pool, r, size);
        return -1;
    }
    *block = &r->block;
    return 0;
}

int gb_cuda_alloc(const gb_cuda_request *request, gb_cuda_block **block, gb_cuda_error *e) {
    return allocate(request, 0, block, e);
}

void gb_cuda_share(gb_cuda_block *block) {
    __atomic_add_fetch(&((gb_cu_record *)block)->shares, 1, __ATOMIC_RELAXED);
}

void gb_cuda_release(gb_cuda_block *block) {
    gb_cu_record *r = (gb_cu_record *)block;
    if (__builtin_expect(r->live != GB_HEAP_LIVE, 0)) abort(); /* freed twice, or not ours */
    if (__atomic_sub_fetch(&r->shares, 1, __ATOMIC_ACQ_REL) > 0 || gb_cu_in_child) return;
    gb_cu_pool *pool = r->slab->pool;
    live_remove(r);
    if (__builtin_expect(gb_debugging, 0)) debug_released(r);
    pthread_mutex_lock(pool->lock);
    r->live = GB_HEAP_FREED;
    r->epoch = gb_cu_now_epoch();
    put_back(pool, r);
    int64_t bound = pool->stats.cache_bound;
    int full = pool->idle_bytes > bound;
    pthread_mutex_unlock(pool->lock);
    if (full) gb_cuda_trim(pool->kind, pool->device, bound);
}

/* ---- allocators of other libraries, which cannot pass a message on: NULL is any error ---- */

static void *take(int kind, int64_t bytes, int device, gb_cuda_stream stream, int any_stream) {
    gb_cuda_request request = {
        .kind = kind, .device = device, .span = bytes, .boundary = GB_CU_ALIGN, .stream = stream};
    gb_cuda_block *block;
    return allocate(&request, any_stream, &block, NULL) == 0 ? (void *)(uintptr_t)block->data
                                                             : NULL;
}

static void release(void *data) {
    gb_cuda_block *block = data ? gb_cuda_find((uint64_t)(uintptr_t)data) : NULL;
    if (block) gb_cuda_release(block);
}

/* cupy names neither the stream that uses the memory nor the last one: a freed block waits for the
 * whole device. */
void *gb_cuda_cupy_malloc(void *param, size_t bytes, int device) {
    return take(GB_CUDA_DEVICE, (int64_t)bytes, device, 0, 1);
}
void *gb_cuda_cupy_malloc_managed(void *param, size_t bytes, int device) {
    return take(GB_CUDA_MANAGED, (int64_t)bytes, device, 0, 1);
}
void *gb_cuda_cupy_malloc_pinned(void *param, size_t bytes, int device) {
    return take(GB_CUDA_PINNED, (int64_t)bytes, 0, 0, 1);
}
void gb_cuda_cupy_free(void *param, void *data, int device) { release(data); }

void *gb_cuda_torch_malloc(ssize_t bytes, int device, void *stream) {
    return take(GB_CUDA_DEVICE, bytes, device, (gb_cuda_stream)(uintptr_t)stream, 0);
}
void gb_cuda_torch_free(void *data, ssize_t bytes, int device, void *stream) { release(data); }

/* Another stream uses the block too, until it is freed. */
void gb_cuda_torch_record_stream(void *data, void *stream) {
    gb_cu_record *r = (gb_cu_record *)gb_cuda_find((uint64_t)(uintptr_t)data);
    if (!r || gb_cu_key_of((gb_cuda_stream)(uintptr_t)stream) == r->key) return;
    pthread_mutex_lock(r->slab->pool->lock);
    r->key = GB_CU_UNKNOWN;
    pthread_mutex_unlock(r->slab->pool->lock);
}
