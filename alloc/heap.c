/* heap.c: slabs and blocks. See heap.h for what they are. */
#include "bound.h"
#include "extents.h"
#include "heap.h"
#include "map.h"
#include "pages.h"
#include "slab.h"

#include <string.h>

#define heap gb_heap_state
#define FRESH_PAGES                                                              \
    (2 * gb_heap_huge_boundary) /* from here on blocks lie in huge pages (map.c) \
                                 */

int64_t gb_heap_reserve(int64_t span, int64_t boundary) {
    int64_t slack = boundary <= GB_HEAP_BLOCK_ALIGN && (boundary & (boundary - 1)) == 0
                        ? GB_HEAP_BLOCK_ALIGN
                        : boundary;
    if (span > GB_LARGEST || slack > GB_LARGEST)
        return INT64_MAX & -gb_heap_page_bytes; /* which no system can map */
    int64_t need =
        GB_HEAP_DATA_ROOM + slack + (span > 0 ? span : 1) + (gb_debugging ? GB_HEAP_TRAILER : 0);
    if (need <= GB_HEAP_SMALL_MAX) return gb_heap_small_bytes(gb_heap_small_bin(need));
    need += gb_heap_placement_room(span, boundary);
    return (need + GB_HEAP_COLOURS + gb_heap_page_bytes - 1) & -gb_heap_page_bytes;
}

int64_t gb_heap_slab_bytes(int64_t reserve) {
    if (reserve > GB_HEAP_SMALL_MAX) return reserve;
    int64_t bytes = reserve * 32; /* one trip into Go buys 32 blocks, or 64 KiB of small ones */
    if (bytes < (64 << 10)) bytes = 64 << 10;
    return (bytes + gb_heap_page_bytes - 1) & -gb_heap_page_bytes;
}

gb_heap_slab *gb_heap_detach(int64_t keep) {
    gb_heap_slab *gone = NULL;
    int64_t too_old = heap.now - heap.cache_age;
    while (heap.oldest && (heap.empty_bytes > keep || heap.oldest->idle_since < too_old)) {
        gb_heap_slab *s = heap.oldest;
        gb_heap_cache_remove(s);
        gb_heap_take_out(s);
        gb_heap_unlist(s);
        heap.mapped_bytes -= s->bytes;
        s->next = gone;
        gone = s;
    }
    return gone;
}

int64_t gb_heap_destroy(gb_heap_slab *gone) {
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

/* ---- blocks ---- */

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

int gb_heap_take_shared(const gb_heap_layout *want, void **data, int *fresh) {
    int64_t reserve = want->reserve;
    gb_spin_lock(&heap.lock);
    if (__builtin_expect(heap.stats.limit >= 0, 0) &&
        reserve > heap.stats.limit - heap.stats.live_bytes)
        return gb_spin_unlock(&heap.lock), GB_HEAP_OVER_LIMIT;
    gb_heap_slab *s = heap.bins[gb_heap_bin(reserve)];
    while (s && s->block != reserve) s = s->next; /* only large bins mix sizes */
    if (!s) return gb_spin_unlock(&heap.lock), GB_HEAP_NEED_SLAB;
    char *block = next_block(s, fresh);
    heap.stats.allocations++;
    heap.stats.live_buffers++;
    heap.stats.live_bytes += reserve;
    if (heap.stats.live_bytes > heap.stats.peak_bytes)
        heap.stats.peak_bytes = heap.stats.live_bytes;
    if (reserve > GB_HEAP_SMALL_MAX) gb_heap_place(want, s, block);
    *data = gb_heap_dress(want, s, block, ++heap.next_id);
    if (__builtin_expect(gb_debugging, 0))
        gb_heap_debug_taken((gb_heap_header *)block, want->span, *fresh);
    else gb_heap_forbid((char *)*data + want->span, block + s->block);
    *gb_heap_pointer_below(*data) = (gb_heap_header *)block;
    gb_spin_unlock(&heap.lock);
    return GB_HEAP_TAKEN;
}

gb_heap_header *gb_heap_draw(int64_t reserve) {
    gb_heap_slab *s = heap.bins[gb_heap_small_bin(reserve)];
    if (!s) return NULL;
    int fresh;
    gb_heap_header *h = (gb_heap_header *)next_block(s, &fresh);
    gb_heap_allow(h, h + 1);
    if (!fresh) h->magic = GB_HEAP_FREED; /* other blocks may have left anything there */
    h->slab = s;
    return h;
}

/* Large blocks get new zero pages: with huge pages that costs no more than writing the
 * zeros when they are touched, and nothing when they are not. */
int gb_heap_zero(void *data, int64_t span) {
    gb_heap_header *h = gb_heap_header_of(data);
    if (span < FRESH_PAGES || h->slab->block <= GB_HEAP_SMALL_MAX) return -1;
    void *first, *last;
    if (!gb_heap_discard(data, span, &first, &last)) return -1;
    memset(data, 0, (char *)first - (char *)data);
    memset(last, 0, (char *)data + span - (char *)last);
    return 0;
}

int gb_heap_add_slab(int64_t reserve, void *memory, int64_t bytes) {
    gb_spin_lock(&heap.lock);
    heap.now = gb_heap_seconds();
    gb_heap_join(0); /* extents in the cache are newer than all that were joined */
    int added = gb_heap_add_mapping(reserve, gb_heap_slab_bytes(reserve), memory, bytes);
    gb_spin_unlock(&heap.lock);
    return added;
}

void gb_heap_share(void *data) {
    __atomic_add_fetch(&gb_heap_header_of(data)->shares, 1, __ATOMIC_RELAXED);
}

static inline void put(gb_heap_header *h, gb_heap_slab *s) {
    gb_heap_free_block *f = (gb_heap_free_block *)h;
    f->next = s->free;
    s->free = f;
    if (!s->in_bin) gb_heap_bin_push(s);
    if (--s->used == 0) gb_heap_cache_push(s);
}

void gb_heap_put(gb_heap_header *h) { put(h, h->slab); }

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
    if (gone) gb_heap_destroy(gone);
}

void gb_heap_free_shared(gb_heap_header *h) { free_block(h); }

void gb_heap_release_shared(void *data) {
    gb_heap_header *h = gb_heap_header_of(data);
    if (gb_heap_last_share(h)) free_block(h);
}

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
    gb_heap_allow(data, (const char *)data + room); /* it grows into the rest, or moves with it */
    return !gb_debugging && span <= room && span >= room / 2; /* a guard would stand in the way */
}
