/* heap.c: slabs and blocks. See heap.h for what they are. */
#define _GNU_SOURCE
#include "heap.h"
#include "map.h"
#include "spin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BINS 64        /* small size classes */
#define LARGE_BINS 64  /* large blocks, hashed by size */

/* Large blocks start on huge pages. Were they all to start at the same place in a page,
 * the arrays of a stencil would fall into the same cache sets and a store would look
 * like the load that follows it: each starts somewhere else in STAGGER bytes. */
#define STAGGER 4096

#define FRESH_PAGES ((int64_t)4 << 20)   /* from here on blocks lie in huge pages (map.c) */

/* A free block keeps its header's magic, which says that it is free. */
typedef struct free_block { struct free_block *next; } free_block;

struct gb_slab {
    gb_slab *next, *prev;           /* in its bin, while it has free blocks */
    gb_slab *before, *after;        /* among all slabs */
    gb_slab *newer, *older;         /* in the cache, while no block is in use */
    free_block *free;
    char *memory, *bump, *end;      /* bump: blocks beyond were never used */
    int64_t bytes, block;
    uint32_t used;
    int32_t bin;
    int32_t in_bin, stagger;
    int64_t idle_since;             /* seconds; while no block is in use */
};

typedef struct { gb_slab *first; } bin_t;

static struct {
    gb_spin lock;
    bin_t bins[BINS + LARGE_BINS];
    gb_slab *all;
    gb_slab *newest, *oldest;       /* slabs without a used block */
    int64_t empty_bytes;            /* in them */
    int64_t mapped_bytes;
    uint64_t next_id;
    uint32_t large_slabs;
    int64_t cache_age;              /* seconds that memory nobody uses is kept */
    int64_t now;                    /* the clock, read when a slab comes or a large block goes */
    gb_heap_stats stats;
} heap = { .stats = { .limit = -1, .cache_bound = -1 } };

int gb_forked;

#define LEAD ((GB_LEAD + GB_BLOCK_ALIGN - 1) / GB_BLOCK_ALIGN * GB_BLOCK_ALIGN)

/* ---- size classes: steps of 64 up to 1 KiB, then eight a doubling ---- */

static int small_bin(int64_t need) {
    if (need <= 1024) return need <= 64 ? 0 : (int)((need + 63) / 64 - 1);
    int log = 63 - __builtin_clzll((uint64_t)(need - 1));      /* 2^log < need <= 2^(log+1) */
    int64_t step = (int64_t)1 << (log - 3);
    return 16 + (log - 10) * 8 + (int)((need - ((int64_t)1 << log) + step - 1) / step - 1);
}

static int64_t small_bytes(int bin) {
    if (bin < 16) return (bin + 1) * 64;
    int log = 10 + (bin - 16) / 8;
    return ((int64_t)1 << log) + ((bin - 16) % 8 + 1) * ((int64_t)1 << (log - 3));
}

static int bin_of(int64_t reserve) {
    if (reserve <= GB_SMALL_MAX) return small_bin(reserve);
    return BINS + (int)(((uint64_t)reserve >> 12) * 0x9E3779B97F4A7C15u >> 58);
}

int64_t gb_reserve(int64_t span, int64_t boundary) {
    int64_t slack = boundary <= GB_BLOCK_ALIGN && (boundary & (boundary - 1)) == 0 ? GB_BLOCK_ALIGN : boundary;
    int64_t need = LEAD + slack + (span > 0 ? span : 1);
    if (need <= GB_SMALL_MAX) return small_bytes(small_bin(need));
    return (need + STAGGER + 4095) & ~(int64_t)4095;
}

int64_t gb_slab_bytes(int64_t reserve) {
    if (reserve > GB_SMALL_MAX) return reserve;
    int64_t bytes = reserve * 32;   /* one trip into Go buys 32 blocks, or 64 KiB of small ones */
    return bytes < (64 << 10) ? 64 << 10 : bytes;
}

/* ---- lists; the caller holds the lock ---- */

static void bin_push(gb_slab *s) {
    bin_t *b = &heap.bins[s->bin];
    s->prev = NULL;
    s->next = b->first;
    if (b->first) b->first->prev = s;
    b->first = s;
    s->in_bin = 1;
}

static void bin_remove(gb_slab *s) {
    if (s->prev) s->prev->next = s->next; else heap.bins[s->bin].first = s->next;
    if (s->next) s->next->prev = s->prev;
    s->in_bin = 0;
}

static void cache_push(gb_slab *s) {
    s->newer = NULL;
    s->older = heap.newest;
    if (heap.newest) heap.newest->newer = s; else heap.oldest = s;
    heap.newest = s;
    heap.empty_bytes += s->bytes;
    s->idle_since = heap.now;
}

static void cache_remove(gb_slab *s) {
    if (s->newer) s->newer->older = s->older; else heap.newest = s->older;
    if (s->older) s->older->newer = s->newer; else heap.oldest = s->newer;
    heap.empty_bytes -= s->bytes;
}

/* Detach cached slabs, oldest first: all that are too old, and more until at most keep
 * bytes of them are left. */
static gb_slab *detach(int64_t keep) {
    gb_slab *gone = NULL;
    int64_t too_old = heap.now - heap.cache_age;
    while (heap.oldest && (heap.empty_bytes > keep || heap.oldest->idle_since < too_old)) {
        gb_slab *s = heap.oldest;
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

static int64_t destroy(gb_slab *gone) {
    int64_t bytes = 0;
    while (gone) {
        gb_slab *next = gone->next;
        bytes += gone->bytes;
        gb_unmap(gone->memory, gone->bytes);
        free(gone);
        gone = next;
    }
    return bytes;
}

/* ---- headers ---- */

static gb_header **pointer_below(const void *data) {
    return (gb_header **)(((uintptr_t)data & ~(uintptr_t)7) - sizeof(gb_header *));
}

static gb_header *header_of(const void *data) { return *pointer_below(data); }

static char *place(const gb_want *w, char *block, int64_t stagger) {
    block += w->boundary < STAGGER ? stagger : 0;
    if (w->boundary <= GB_BLOCK_ALIGN && (w->boundary & (w->boundary - 1)) == 0)
        return block + LEAD + w->offset;
    uintptr_t low = (uintptr_t)block + LEAD, b = (uintptr_t)w->boundary;
    return (char *)((low - w->offset + b - 1) / b * b + w->offset);
}

/* ---- taking and releasing ---- */

int gb_take(const gb_want *want, void **data, int *fresh) {
    int64_t reserve = want->reserve;
    gb_lock(&heap.lock);
    if (__builtin_expect(heap.stats.limit >= 0, 0) && heap.stats.live_bytes + reserve > heap.stats.limit) {
        gb_unlock(&heap.lock);
        return GB_OVER_LIMIT;
    }
    gb_slab *s = heap.bins[bin_of(reserve)].first;
    while (s && s->block != reserve) s = s->next;   /* only large bins mix sizes */
    if (!s) {
        heap.stats.misses++;
        gb_unlock(&heap.lock);
        return GB_NEED_SLAB;
    }
    if (s->used++ == 0) cache_remove(s);
    char *block = (char *)s->free;
    *fresh = 0;
    if (block) {
        s->free = s->free->next;
    } else {
        block = s->bump;
        s->bump += s->block;
        *fresh = 1;
    }
    if (!s->free && s->bump + s->block > s->end) bin_remove(s);
    heap.stats.allocations++;
    heap.stats.live_buffers++;
    heap.stats.live_bytes += reserve;
    if (heap.stats.live_bytes > heap.stats.peak_bytes) heap.stats.peak_bytes = heap.stats.live_bytes;
    *data = place(want, block, s->stagger);
    *(gb_header *)block = (gb_header){ .slab = s, .data = *data, .id = ++heap.next_id, .plan = want->plan, .shares = 1,
                                       .magic = GB_LIVE, .born = gb_seconds() };
    gb_unlock(&heap.lock);
    *pointer_below(*data) = (gb_header *)block;
    return GB_TAKEN;
}

/* Large blocks get new zero pages: with huge pages that costs no more than writing the
 * zeros when they are touched, and nothing when they are not. */
int gb_zero(void *data, int64_t span) {
    gb_header *h = header_of(data);
    if (span < FRESH_PAGES || h->slab->block <= GB_SMALL_MAX) return -1;
    char *first = (char *)(((uintptr_t)data + 4095) & ~(uintptr_t)4095);
    char *last = (char *)(((uintptr_t)data + span) & ~(uintptr_t)4095);
    if (!gb_discard(first, last - first)) return -1;
    memset(data, 0, first - (char *)data);
    memset(last, 0, (char *)data + span - last);
    return 0;
}

int gb_add_slab(int64_t reserve, void *memory, int64_t bytes) {
    gb_slab *s = calloc(1, sizeof *s);
    if (!s) return -1;
    s->memory = s->bump = memory;
    s->end = s->memory + bytes;
    s->bytes = bytes;
    s->block = reserve;
    s->bin = bin_of(reserve);
    gb_lock(&heap.lock);
    heap.now = gb_seconds();
    heap.mapped_bytes += bytes;
    if (reserve > GB_SMALL_MAX) s->stagger = heap.large_slabs++ * 33 % 64 * 64;
    s->after = heap.all;
    if (heap.all) heap.all->before = s;
    heap.all = s;
    bin_push(s);
    cache_push(s);
    gb_unlock(&heap.lock);
    return 0;
}

int gb_refill(int64_t reserve) {
    int64_t bytes = gb_slab_bytes(reserve);
    void *memory = gb_map(bytes);
    if (!memory && gb_trim(0) > 0) memory = gb_map(bytes);
    if (!memory) return -1;
    if (gb_add_slab(reserve, memory, bytes) == 0) return 0;
    gb_unmap(memory, bytes);
    return -1;
}

void gb_share(void *data) {
    __atomic_add_fetch(&header_of(data)->shares, 1, __ATOMIC_RELAXED);
}

void gb_release(void *data) {
    gb_header *h = header_of(data);
    if (__builtin_expect(h->magic != GB_LIVE, 0)) abort();   /* freed twice, or not ours */
    if (__atomic_sub_fetch(&h->shares, 1, __ATOMIC_ACQ_REL) > 0) return;
    gb_slab *s = h->slab, *gone = NULL;
    free_block *f = (free_block *)h;
    gb_lock(&heap.lock);
    char *note = h->note;
    h->magic = GB_FREED;
    f->next = s->free;
    s->free = f;
    heap.stats.live_buffers--;
    heap.stats.live_bytes -= s->block;
    if (!s->in_bin) bin_push(s);
    if (--s->used == 0) {
        if (s->block > GB_SMALL_MAX) heap.now = gb_seconds();
        cache_push(s);
        if (s->block > GB_SMALL_MAX || heap.empty_bytes > heap.stats.cache_bound) gone = detach(heap.stats.cache_bound);
    }
    gb_unlock(&heap.lock);
    free(note);
    destroy(gone);
}

uint64_t gb_block_id(const void *data) { return header_of(data)->id; }

int64_t gb_block_bytes(const void *data) {
    gb_header *h = header_of(data);
    return (char *)h + h->slab->block - (const char *)data;
}

void gb_set_note(void *data, char *note) {
    gb_lock(&heap.lock);
    header_of(data)->note = note;
    gb_unlock(&heap.lock);
}

/* Keep out sorted, largest first; the smallest falls off the end. */
static int64_t insert(gb_live *out, int64_t n, int64_t room, const gb_header *h) {
    int64_t at = n;
    while (at > 0 && out[at - 1].bytes < h->slab->block) at--;
    if (at == room) return n;
    memmove(&out[at + 1], &out[at], (size_t)((n < room ? n : room - 1) - at) * sizeof *out);
    out[at] = (gb_live){.id = h->id, .plan = h->plan, .bytes = h->slab->block, .data = h->data, .age = gb_seconds() - h->born};
    if (h->note) strncpy(out[at].note, h->note, sizeof out[at].note - 1);
    return n < room ? n + 1 : n;
}

int64_t gb_live_blocks(gb_live *out, int64_t room) {
    int64_t n = 0;
    gb_lock(&heap.lock);
    for (gb_slab *s = heap.all; s && room > 0; s = s->after)
        for (char *block = s->memory; s->used && block < s->bump; block += s->block)
            if (((gb_header *)block)->magic == GB_LIVE) n = insert(out, n, room, (gb_header *)block);
    gb_unlock(&heap.lock);
    return n;
}

int64_t gb_trim(int64_t keep) {
    gb_lock(&heap.lock);
    gb_slab *gone = detach(keep);
    gb_unlock(&heap.lock);
    return destroy(gone);
}

void gb_get_stats(gb_heap_stats *out) {
    gb_lock(&heap.lock);
    *out = heap.stats;
    out->cached_bytes = heap.mapped_bytes - heap.stats.live_bytes;
    gb_unlock(&heap.lock);
    out->hits = out->allocations - out->misses;
}

void gb_set_limit(int64_t limit) {
    gb_lock(&heap.lock);
    heap.stats.limit = limit < 0 ? -1 : limit;
    gb_unlock(&heap.lock);
}

void gb_set_cache_bound(int64_t bytes) {
    gb_lock(&heap.lock);
    heap.stats.cache_bound = bytes;
    gb_slab *gone = detach(bytes);
    gb_unlock(&heap.lock);
    destroy(gone);
}

/* ---- fork: hold the lock across it, so that the child finds the heap whole ---- */

static void before_fork(void) { gb_lock(&heap.lock); }
static void after_fork_parent(void) { gb_unlock(&heap.lock); }
static void after_fork_child(void) { gb_unlock(&heap.lock); gb_forked = 1; }

/* "268435456", "256M", "2G" -> bytes; anything else leaves what is there. */
static int64_t read_bytes(const char *text, int64_t otherwise) {
    char *unit;
    if (!text || *text < '0' || *text > '9') return otherwise;
    int64_t n = strtoll(text, &unit, 10);
    int shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0;
    return n > (INT64_MAX >> shift) ? otherwise : n << shift;
}

__attribute__((constructor)) static void start(void) {
    heap.stats.cache_bound = read_bytes(getenv("GRIDBUF_CACHE"), gb_physical_memory() / 8);
    heap.cache_age = read_bytes(getenv("GRIDBUF_CACHE_AGE"), 60);
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}
