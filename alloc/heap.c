/* heap.c: slabs and blocks. See heap.h for what they are. */
#include "heap.h"
#include "map.h"
#include "pages.h"
#include "slab.h"

#include <stdlib.h>
#include <string.h>

#define heap gb_heap_state
#define FRESH_PAGES (2 * gb_heap_huge_boundary)   /* from here on blocks lie in huge pages (map.c) */

gb_heap gb_heap_state = {.stats = {.limit = -1}};

int64_t gb_heap_reserve(int64_t span, int64_t boundary) {
    int64_t slack = boundary <= GB_HEAP_BLOCK_ALIGN && (boundary & (boundary - 1)) == 0 ? GB_HEAP_BLOCK_ALIGN : boundary;
    if (span > GB_LARGEST || slack > GB_LARGEST) return INT64_MAX & -gb_heap_page_bytes;   /* which no system can map */
    int64_t need = GB_HEAP_DATA_ROOM + slack + (span > 0 ? span : 1) + (gb_debugging ? GB_HEAP_TRAILER : 0);
    if (need <= GB_HEAP_SMALL_MAX) return gb_heap_small_bytes(gb_heap_small_bin(need));
    return (need + GB_HEAP_COLOURS + gb_heap_page_bytes - 1) & -gb_heap_page_bytes;
}

int64_t gb_heap_slab_bytes(int64_t reserve) {
    if (reserve > GB_HEAP_SMALL_MAX) return reserve;
    int64_t bytes = reserve * 32;   /* one trip into Go buys 32 blocks, or 64 KiB of small ones */
    if (bytes < (64 << 10)) bytes = 64 << 10;
    return (bytes + gb_heap_page_bytes - 1) & -gb_heap_page_bytes;
}

/* ---- lists; the caller holds the lock ---- */

static void bin_push(gb_heap_slab *s) {
    gb_heap_slab **first = &heap.bins[s->bin];
    s->prev = NULL;
    s->next = *first;
    if (*first) (*first)->prev = s;
    *first = s;
    s->in_bin = 1;
}

static void bin_remove(gb_heap_slab *s) {
    if (s->prev) s->prev->next = s->next; else heap.bins[s->bin] = s->next;
    if (s->next) s->next->prev = s->prev;
    s->in_bin = 0;
}

static void cache_push(gb_heap_slab *s) {
    s->newer = NULL;
    s->older = heap.newest;
    if (heap.newest) heap.newest->newer = s; else heap.oldest = s;
    heap.newest = s;
    heap.empty_bytes += s->bytes;
    s->idle_since = heap.now;
}

static void cache_remove(gb_heap_slab *s) {
    if (s->newer) s->newer->older = s->older; else heap.newest = s->older;
    if (s->older) s->older->newer = s->newer; else heap.oldest = s->newer;
    heap.empty_bytes -= s->bytes;
}

/* Detach cached slabs, oldest first: all that are too old, and more until at most keep
 * bytes of them are left. */
static gb_heap_slab *detach(int64_t keep) {
    gb_heap_slab *gone = NULL;
    int64_t too_old = heap.now - heap.cache_age;
    while (heap.oldest && (heap.empty_bytes > keep || heap.oldest->idle_since < too_old)) {
        gb_heap_slab *s = heap.oldest;
        cache_remove(s);
        bin_remove(s);
        heap.mapped_bytes -= s->bytes;
        if (s->before) s->before->after = s->after; else heap.all = s->after;
        if (s->after) s->after->before = s->before;
        s->next = gone;
        gone = s;
    }
    return gone;
}

static int64_t destroy(gb_heap_slab *gone) {
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

static char *align_data(const gb_heap_layout *w, char *block, int64_t colour) {
    block += w->boundary < GB_HEAP_COLOURS ? colour : 0;
    if (w->boundary <= GB_HEAP_BLOCK_ALIGN && (w->boundary & (w->boundary - 1)) == 0)
        return block + GB_HEAP_DATA_ROOM + w->offset;
    uintptr_t low = (uintptr_t)block + GB_HEAP_DATA_ROOM, b = (uintptr_t)w->boundary;
    return (char *)((low - w->offset + b - 1) / b * b + w->offset);
}

int gb_heap_take(const gb_heap_layout *want, void **data, int *fresh) {
    int64_t reserve = want->reserve;
    gb_spin_lock(&heap.lock);
    if (__builtin_expect(heap.stats.limit >= 0, 0) && reserve > heap.stats.limit - heap.stats.live_bytes)
        return gb_spin_unlock(&heap.lock), GB_HEAP_OVER_LIMIT;
    gb_heap_slab *s = heap.bins[gb_heap_bin(reserve)];
    while (s && s->block != reserve) s = s->next;   /* only large bins mix sizes */
    if (!s) return gb_spin_unlock(&heap.lock), GB_HEAP_NEED_SLAB;
    if (s->used++ == 0) cache_remove(s);
    char *block = (char *)s->free;
    *fresh = 0;
    if (block) {
        s->free = s->free->next;
    } else {
        block = s->bump;
        s->bump += s->block;
        *fresh = 1;
        heap.stats.misses += block == s->memory;   /* memory was mapped for it */
    }
    if (!s->free && s->bump + s->block > s->end) bin_remove(s);
    heap.stats.allocations++;
    heap.stats.live_buffers++;
    heap.stats.live_bytes += reserve;
    if (heap.stats.live_bytes > heap.stats.peak_bytes) heap.stats.peak_bytes = heap.stats.live_bytes;
    *data = align_data(want, block, s->colour);
    *(gb_heap_header *)block = (gb_heap_header){ .slab = s, .data = *data, .id = ++heap.next_id, .plan = want->plan, .shares = 1,
                                       .magic = GB_HEAP_LIVE, .born = gb_heap_seconds() };
    gb_heap_allow(block, block + s->block);
    if (__builtin_expect(gb_debugging, 0)) gb_heap_debug_taken((gb_heap_header *)block, want->span, *fresh);
    else gb_heap_forbid((char *)*data + want->span, block + s->block);
    *gb_heap_pointer_below(*data) = (gb_heap_header *)block;
    gb_spin_unlock(&heap.lock);
    return GB_HEAP_TAKEN;
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
    gb_heap_slab *s = calloc(1, sizeof *s);
    if (!s) return -1;
    s->memory = s->bump = memory;
    s->end = s->memory + bytes;
    s->bytes = bytes;
    s->block = reserve;
    s->bin = gb_heap_bin(reserve);
    gb_spin_lock(&heap.lock);
    heap.now = gb_heap_seconds();
    heap.mapped_bytes += bytes;
    if (reserve > GB_HEAP_SMALL_MAX) s->colour = heap.large_slabs++ * 13 % 64 * 64;
    s->after = heap.all;
    if (heap.all) heap.all->before = s;
    heap.all = s;
    bin_push(s);
    cache_push(s);
    gb_spin_unlock(&heap.lock);
    return 0;
}

int gb_heap_refill(int64_t reserve) {
    int64_t bytes = gb_heap_slab_bytes(reserve);
    void *memory = gb_heap_map(bytes);
    if (!memory && gb_heap_trim(0) > 0) memory = gb_heap_map(bytes);
    if (!memory) return -1;
    if (gb_heap_add_slab(reserve, memory, bytes) == 0) return 0;
    gb_heap_unmap(memory, bytes);
    return -1;
}

void gb_heap_share(void *data) {
    __atomic_add_fetch(&gb_heap_header_of(data)->shares, 1, __ATOMIC_RELAXED);
}

void gb_heap_release(void *data) {
    gb_heap_header *h = gb_heap_header_of(data);
    if (__builtin_expect(h->magic != GB_HEAP_LIVE, 0)) abort();   /* freed twice, or not ours */
    /* Who holds the only share need not count it down: nobody else can take one. */
    if (__atomic_load_n(&h->shares, __ATOMIC_ACQUIRE) != 1 && __atomic_sub_fetch(&h->shares, 1, __ATOMIC_ACQ_REL) > 0) return;
    gb_heap_slab *s = h->slab, *gone = NULL;
    gb_heap_free_block *f = (gb_heap_free_block *)h;
    gb_spin_lock(&heap.lock);
    if (__builtin_expect(gb_debugging, 0)) gb_heap_debug_released(h);
    char *note = h->note;
    h->note = NULL;
    h->magic = GB_HEAP_FREED;
    gb_heap_forbid(h + 1, (char *)h + s->block);
    f->next = s->free;
    s->free = f;
    heap.stats.live_buffers--;
    heap.stats.live_bytes -= s->block;
    if (!s->in_bin) bin_push(s);
    if (--s->used == 0) {
        if (s->block > GB_HEAP_SMALL_MAX) heap.now = gb_heap_seconds();
        cache_push(s);
        if (s->block > GB_HEAP_SMALL_MAX || heap.empty_bytes > heap.stats.cache_bound) gone = detach(heap.stats.cache_bound);
    }
    gb_spin_unlock(&heap.lock);
    free(note);
    destroy(gone);
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
    gb_heap_allow(data, (const char *)data + room);   /* it grows into the rest, or moves with it */
    return !gb_debugging && span <= room && span >= room / 2;   /* a guard would stand in the way */
}

int64_t gb_heap_trim(int64_t keep) {
    gb_spin_lock(&heap.lock);
    gb_heap_slab *gone = detach(keep);
    gb_spin_unlock(&heap.lock);
    return destroy(gone);
}
