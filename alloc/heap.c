/* heap.c: blocks taken and released, memory for them from the system and back, and the heap's
 * settings. heap.h says what slabs and blocks are. */
#include "heap.h"
#include "slab.h"

#include <pthread.h>
#include <string.h>

#define heap gb_heap_state

/* ---- sizes ---- */

int64_t gb_heap_reserve(int64_t span, int64_t boundary) {
    int64_t slack = boundary <= GB_HEAP_BLOCK_ALIGN && (boundary & (boundary - 1)) == 0
                        ? GB_HEAP_BLOCK_ALIGN
                        : boundary;
    if (span > GB_LARGEST || slack > GB_LARGEST)
        return INT64_MAX & -gb_heap_page_bytes; /* no system can map this much */
    int64_t need =
        GB_HEAP_DATA_ROOM + slack + (span > 0 ? span : 1) + (gb_debugging ? GB_HEAP_TRAILER : 0);
    if (need <= GB_HEAP_SMALL_MAX) return gb_heap_small_bytes(gb_heap_small_bin(need));
    need += gb_heap_placement_room(span, boundary);
    return (need + GB_HEAP_COLOURS + gb_heap_page_bytes - 1) & -gb_heap_page_bytes;
}

static int64_t slab_bytes(int64_t reserve) {
    if (reserve > GB_HEAP_SMALL_MAX) return reserve;
    int64_t bytes = reserve * 32; /* one refill buys 32 blocks, or 64 KiB of small ones */
    if (bytes < (64 << 10)) bytes = 64 << 10;
    return (bytes + gb_heap_page_bytes - 1) & -gb_heap_page_bytes;
}

/* ---- taking ---- */

/* A block of a slab that has one; fresh: never used. */
static inline char *next_block(gb_heap_slab *s, int *fresh) {
    if (s->used++ == 0) gb_heap_cache_remove(s);
    char *block = (char *)s->free;
    *fresh = !block && s->clean;
    if (block) {
        s->free = s->free->next;
    } else {
        block = s->bump;
        s->bump += s->block;
        heap.stats.misses += block == s->memory && s->mapped;
    }
    if (!s->free && s->bump + s->block > s->end) gb_heap_bin_remove(s);
    return block;
}

/* Write the header of a block that is taken; where its data is. The caller writes the pointer
 * below, after the guards. */
static inline char *dress(const gb_heap_layout *want, gb_heap_slab *s, char *block, uint64_t id) {
    char *data = gb_heap_data_in(want, block, s->colour);
    gb_heap_allow(block, block + s->block);
    *(gb_heap_header *)block = (gb_heap_header){.slab = s,
                                                .data = data,
                                                .id = id,
                                                .plan = want->plan,
                                                .shares = 1,
                                                .magic = GB_HEAP_LIVE,
                                                .born = gb_heap_seconds()};
    return data;
}

static int refuse(int why) {
    gb_spin_unlock(&heap.lock);
    return why;
}

int gb_heap_take(const gb_heap_layout *want, void **data, int *fresh) {
    int64_t reserve = want->reserve;
    gb_spin_lock(&heap.lock);
    if (__builtin_expect(heap.stats.limit >= 0, 0) &&
        reserve > heap.stats.limit - heap.stats.live_bytes)
        return refuse(GB_HEAP_OVER_LIMIT);
    gb_heap_slab *s = heap.bins[gb_heap_bin(reserve)];
    while (s && s->block != reserve) s = s->next; /* only large bins mix sizes */
    if (!s) return refuse(GB_HEAP_NEED_SLAB);
    char *block = next_block(s, fresh);
    heap.stats.allocations++;
    heap.stats.live_buffers++;
    heap.stats.live_bytes += reserve;
    if (heap.stats.live_bytes > heap.stats.peak_bytes)
        heap.stats.peak_bytes = heap.stats.live_bytes;
    if (reserve > GB_HEAP_SMALL_MAX) gb_heap_place(want, s, block);
    *data = dress(want, s, block, ++heap.next_id);
    if (__builtin_expect(gb_debugging, 0))
        gb_heap_debug_taken((gb_heap_header *)block, want->span, *fresh);
    else gb_heap_forbid((char *)*data + want->span, block + s->block);
    *gb_heap_pointer_below(*data) = (gb_heap_header *)block;
    gb_spin_unlock(&heap.lock);
    return GB_HEAP_TAKEN;
}

/* ---- releasing ---- */

/* Unmap slabs; how many bytes. */
static int64_t unmap(gb_heap_slab *gone) {
    int64_t bytes = 0;
    while (gone) {
        gb_heap_slab *next = gone->next;
        bytes += gone->bytes;
        if (__builtin_expect(gb_debugging, 0)) gb_heap_debug_slab(gone);
        gb_heap_allow(gone->memory, gone->end);
        gb_heap_unmap(gone->memory, gone->bytes);
        free(gone);
        gone = next;
    }
    return bytes;
}

void gb_heap_share(void *data) {
    __atomic_add_fetch(&gb_heap_header_of(data)->shares, 1, __ATOMIC_RELAXED);
}

/* A holder of the only share need not count it down: no other thread can take one. */
static inline int last_share(gb_heap_header *h) {
    if (__builtin_expect(h->magic != GB_HEAP_LIVE, 0)) abort(); /* freed twice, or not ours */
    return __atomic_load_n(&h->shares, __ATOMIC_ACQUIRE) == 1 ||
           __atomic_sub_fetch(&h->shares, 1, __ATOMIC_ACQ_REL) == 0;
}

static inline void put(gb_heap_header *h, gb_heap_slab *s) {
    gb_heap_free_block *f = (gb_heap_free_block *)h;
    f->next = s->free;
    s->free = f;
    if (!s->in_bin) gb_heap_bin_push(s);
    if (--s->used == 0) gb_heap_cache_push(s);
}

static inline void free_block(gb_heap_header *h) {
    gb_heap_slab *s = h->slab, *gone = NULL;
    gb_spin_lock(&heap.lock);
    if (__builtin_expect(gb_debugging, 0)) gb_heap_debug_released(h);
    char *note = h->note;
    h->note = NULL;
    h->magic = GB_HEAP_FREED;
    gb_heap_forbid(h + 1, (char *)h + s->block);
    heap.stats.live_buffers--;
    heap.stats.live_bytes -= s->block;
    if (s->block > GB_HEAP_SMALL_MAX) heap.now = gb_heap_seconds();
    if (s->placed) gb_heap_leave_place(h);
    put(h, s);
    if (!s->used && (s->block > GB_HEAP_SMALL_MAX || heap.empty_bytes > gb_heap_bound()))
        gone = gb_heap_detach(gb_heap_bound());
    gb_spin_unlock(&heap.lock);
    free(note);
    if (gone) unmap(gone);
}

void gb_heap_release(void *data) {
    gb_heap_header *h = gb_heap_header_of(data);
    if (last_share(h)) free_block(h);
}

/* ---- memory from the system, and back ---- */

#define LARGEST_ARENA ((int64_t)256 << 20)

/* Bytes to map for a request: an eighth of what there is, in huge pages where they fit. Blocks of
 * one mapping can be joined to larger sizes; pages that were never written take no memory. */
static int64_t arena_bytes(int64_t bytes) {
    int64_t huge = gb_heap_huge_boundary, most = gb_heap_bound() / 4, arena = heap.mapped_bytes / 8;
    if (arena > LARGEST_ARENA) arena = LARGEST_ARENA;
    if (arena > most) arena = most;
    arena &= arena >= 2 * huge ? -huge : -gb_heap_page_bytes;
    return arena > bytes && !gb_debugging ? arena : bytes;
}

static int add_mapping(int64_t reserve, void *memory, int64_t bytes) {
    gb_spin_lock(&heap.lock);
    heap.now = gb_heap_seconds();
    gb_heap_join(0); /* extents in the cache are newer than all that were joined */
    int added = gb_heap_add_mapping(reserve, slab_bytes(reserve), memory, bytes);
    gb_spin_unlock(&heap.lock);
    return added;
}

int64_t gb_heap_trim(int64_t keep) {
    gb_spin_lock(&heap.lock);
    gb_heap_slab *gone = gb_heap_detach(keep);
    gb_spin_unlock(&heap.lock);
    return unmap(gone);
}

int gb_heap_refill(int64_t reserve) {
    int64_t bytes = slab_bytes(reserve);
    gb_heap_find_bound();
    gb_spin_lock(&heap.lock);
    gb_heap_join(0);
    int found = gb_heap_cut(reserve, bytes);
    if (!found) {
        gb_heap_join(1);
        found = gb_heap_cut(reserve, bytes);
    }
    int64_t most = arena_bytes(bytes);
    gb_spin_unlock(&heap.lock);
    if (found) return 0;
    void *memory = gb_heap_map(most);
    if (!memory && most > bytes) memory = gb_heap_map(most = bytes);
    if (!memory && gb_heap_trim(0) > 0) memory = gb_heap_map(most = bytes);
    if (!memory) return -1;
    if (add_mapping(reserve, memory, most) == 0) return 0;
    gb_heap_unmap(memory, most);
    return -1;
}

/* New zero pages for large blocks: with huge pages that costs no more than writing the zeros when
 * they are touched, and nothing when they are not. */
int gb_heap_zero(void *data, int64_t span) {
    gb_heap_header *h = gb_heap_header_of(data);
    if (span < 2 * gb_heap_huge_boundary || h->slab->block <= GB_HEAP_SMALL_MAX) return -1;
    void *first, *last;
    if (!gb_heap_discard(data, span, &first, &last)) return -1;
    memset(data, 0, (char *)first - (char *)data);
    memset(last, 0, (char *)data + span - (char *)last);
    return 0;
}

/* ---- facts of a block ---- */

uint64_t gb_heap_new_id(void) {
    gb_spin_lock(&heap.lock);
    uint64_t id = ++heap.next_id;
    gb_spin_unlock(&heap.lock);
    return id;
}

uint64_t gb_heap_block_id(const void *data) { return gb_heap_header_of(data)->id; }

int64_t gb_heap_block_bytes(const void *data) {
    gb_heap_header *h = gb_heap_header_of(data);
    return (char *)h + h->slab->block - (const char *)data;
}

int gb_heap_usable(const void *data, int64_t span) {
    int64_t room = gb_heap_block_bytes(data);
    /* The array grows into the rest, or moves with it. */
    gb_heap_allow(data, (const char *)data + room);
    return !gb_debugging && span <= room && span >= room / 2; /* a guard would stand in the way */
}

/* ---- counters and bounds ---- */

void gb_heap_get_stats(gb_heap_stats *out) {
    gb_spin_lock(&heap.lock);
    *out = heap.stats;
    out->cached_bytes = heap.mapped_bytes - heap.stats.live_bytes;
    out->cache_bound = gb_heap_bound();
    gb_spin_unlock(&heap.lock);
    out->hits = out->allocations - out->misses;
}

void gb_heap_set_limit(int64_t limit) {
    gb_spin_lock(&heap.lock);
    heap.stats.limit = limit < 0 ? -1 : limit;
    gb_spin_unlock(&heap.lock);
}

void gb_heap_set_cache_bound(int64_t bytes) {
    gb_spin_lock(&heap.lock);
    heap.stats.cache_bound = bytes;
    heap.bound_is_set = heap.bound_is_known = 1;
    gb_spin_unlock(&heap.lock);
    gb_heap_trim(bytes);
}

/* ---- start, fork and end of the process ---- */

/* The lock is held across a fork: the child finds the heap whole. */

static void before_fork(void) { gb_spin_lock(&heap.lock); }
static void after_fork_parent(void) { gb_spin_unlock(&heap.lock); }
static void after_fork_child(void) {
    gb_spin_unlock(&heap.lock);
    gb_forked++;
}

/* "268435456", "256M", "2G" in bytes; `otherwise` for any other text. */
static int64_t read_bytes(const char *text, int64_t otherwise) {
    char *unit;
    if (!text || *text < '0' || *text > '9') return otherwise;
    int64_t n = strtoll(text, &unit, 10);
    int shift = 0;
    if (*unit == 'K') shift = 10;
    if (*unit == 'M') shift = 20;
    if (*unit == 'G') shift = 30;
    return n > (INT64_MAX >> shift) ? otherwise : n << shift;
}

__attribute__((constructor)) static void start(void) {
    heap.stats.cache_bound = read_bytes(gb_setting("GRIDBUF_CACHE"), -1);
    heap.bound_is_set = heap.bound_is_known = heap.stats.cache_bound >= 0;
    if (!heap.bound_is_set) heap.stats.cache_bound = gb_heap_physical_memory() / 8;
    gb_debugging = gb_setting_is("GRIDBUF_DEBUG", "1");
    heap.cache_age = read_bytes(gb_setting("GRIDBUF_CACHE_AGE"), 60);
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* Check the guards of buffers that were neither freed nor used again. */
__attribute__((destructor)) static void at_exit(void) {
    if (!gb_debugging) return;
    gb_spin_lock(&heap.lock);
    for (gb_heap_slab *s = heap.all; s; s = s->after) gb_heap_debug_slab(s);
    gb_spin_unlock(&heap.lock);
}
