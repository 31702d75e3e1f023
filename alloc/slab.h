/* slab.h: the inside of the heap, shared by heap.c, extents.c, policy.c and debug.c. */
#pragma once

#include "block.h"
#include "numbers.h"
#include "system.h"

#include <sched.h>
#include <stdlib.h>

/* ---- the lock: for a handful of pointer moves; untaken it costs half a pthread mutex ---- */

typedef struct {
    char held;
} gb_spin;

/* A hint to the processor: the waiting thread slows down and leaves the cache line to the holder.
 */
static inline void gb_spin_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* yield is a no-operation there */
#endif
}

/* Waiting threads only read, so that they do not take the line from each other. */
static inline void gb_spin_lock(gb_spin *s) {
    for (int tries = 0; __atomic_test_and_set(&s->held, __ATOMIC_ACQUIRE);)
        while (__atomic_load_n(&s->held, __ATOMIC_RELAXED))
            if (tries++ < 64) gb_spin_pause();
            else sched_yield(); /* the holder lost its core */
}

static inline void gb_spin_unlock(gb_spin *s) { __atomic_clear(&s->held, __ATOMIC_RELEASE); }

/* ---- size classes: steps of 64 bytes up to 1 KiB, then eight a doubling up to GB_HEAP_SMALL_MAX;
 * larger blocks are exact, in pages, and hashed into bins ---- */

#define GB_HEAP_SMALL_BINS 64
#define GB_HEAP_LARGE_BINS 64

static inline int gb_heap_small_bin(int64_t need) {
    if (need <= 1024) return need <= 64 ? 0 : (int)((need + 63) / 64 - 1);
    int log = 63 - __builtin_clzll((uint64_t)(need - 1)); /* 2^log < need <= 2^(log+1) */
    int64_t step = (int64_t)1 << (log - 3);
    return 16 + (log - 10) * 8 + (int)((need - ((int64_t)1 << log) + step - 1) / step - 1);
}

static inline int64_t gb_heap_small_bytes(int bin) {
    if (bin < 16) return (bin + 1) * 64;
    int log = 10 + (bin - 16) / 8;
    return ((int64_t)1 << log) + ((bin - 16) % 8 + 1) * ((int64_t)1 << (log - 3));
}

static inline int gb_heap_bin(int64_t reserve) {
    if (reserve <= GB_HEAP_SMALL_MAX) return gb_heap_small_bin(reserve);
    return GB_HEAP_SMALL_BINS + (int)(((uint64_t)reserve >> 12) * 0x9E3779B97F4A7C15u >> 58);
}

/* ---- slabs ---- */

/* A free block links to the next in the place of its header's slab; the rest of the header stays,
 * and its magic says that it is free. */
typedef struct gb_heap_free_block {
    struct gb_heap_free_block *next;
} gb_heap_free_block;

/* A run of pages within one mapping: a slab in use, an empty slab, or a free extent, which is cut
 * to the size of any request. An empty slab keeps its size, for the next request of that size,
 * until another size finds no memory. */
struct gb_heap_slab {
    gb_heap_slab *next, *prev;  /* in its bin, while it has free blocks; a free extent's children in
                                   the tree */
    gb_heap_slab *left, *right; /* neighbours by address within its mapping */
    gb_heap_slab *before, *after; /* among all slabs */
    gb_heap_slab *newer, *older;  /* in the cache, while no block is in use */
    gb_heap_free_block *free;
    char *memory, *bump, *end; /* bump: blocks beyond were never used */
    int64_t bytes, block;
    int64_t idle_since; /* seconds; while no block is in use */
    uint32_t used;
    int32_t bin, colour;
    int8_t in_bin, in_tree;
    int8_t clean;  /* pages beyond bump are zero, as they were mapped */
    int8_t mapped; /* memory was mapped for its first block */
    int8_t placed; /* gb_heap_place counts the block in use */
};

typedef struct gb_heap {
    gb_spin lock;
    gb_heap_slab *bins[GB_HEAP_SMALL_BINS + GB_HEAP_LARGE_BINS];
    gb_heap_slab *all;
    gb_heap_slab *extents;         /* free memory of any size */
    gb_heap_slab *newest, *oldest; /* slabs without a used block: the cache */
    int64_t empty_bytes;           /* in them */
    int64_t mapped_bytes;
    int bound_is_set; /* by GRIDBUF_CACHE or a call */
    int bound_is_known;
    uint64_t next_id;
    uint32_t large_slabs;
    int64_t cache_age; /* seconds that free memory is kept */
    int64_t now;       /* the clock, read when a slab comes or a large block goes */
    gb_heap_stats stats;
} gb_heap;

extern __attribute__((visibility("hidden"))) gb_heap gb_heap_state;

/* ---- blocks ---- */

/* Room from a block's start to its data, where nothing else asks for more. */
#define GB_HEAP_DATA_ROOM \
    ((GB_HEAP_HEADER_ROOM + GB_HEAP_BLOCK_ALIGN - 1) / GB_HEAP_BLOCK_ALIGN * GB_HEAP_BLOCK_ALIGN)

/* Large blocks start on huge pages. Starting at the same place in a page, the arrays of a stencil
 * would fall into the same cache sets and a store would look like the load that follows it: each
 * starts somewhere else in GB_HEAP_COLOURS bytes. */
#define GB_HEAP_COLOURS 4096

static inline gb_heap_header **gb_heap_pointer_below(const void *data) {
    return (gb_heap_header **)(((uintptr_t)data & ~(uintptr_t)7) - sizeof(gb_heap_header *));
}

static inline gb_heap_header *gb_heap_header_of(const void *data) {
    return *gb_heap_pointer_below(data);
}

/* Where a block's data starts. */
static inline char *gb_heap_data_in(const gb_heap_layout *w, char *block, int64_t colour) {
    block += w->boundary < GB_HEAP_COLOURS ? colour : 0;
    if (w->boundary <= GB_HEAP_BLOCK_ALIGN && (w->boundary & (w->boundary - 1)) == 0)
        return block + GB_HEAP_DATA_ROOM + w->offset;
    uintptr_t low = (uintptr_t)block + GB_HEAP_DATA_ROOM, b = (uintptr_t)w->boundary;
    return (char *)((low - w->offset + b - 1) / b * b + w->offset);
}

/* Bytes of a block that no caller may touch, told to the address sanitizer (tests/sanitize.sh): a
 * kernel that reads or writes them is stopped at once. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define gb_heap_forbid(from, to) \
    __asan_poison_memory_region((from), (size_t)((char *)(to) - (char *)(from)))
#define gb_heap_allow(from, to) \
    __asan_unpoison_memory_region((from), (size_t)((char *)(to) - (char *)(from)))
#else
#define gb_heap_forbid(from, to) ((void)(from), (void)(to))
#define gb_heap_allow(from, to) ((void)(from), (void)(to))
#endif

/* ---- functions of one file that another calls; the caller holds the lock ---- */

#pragma GCC visibility push(hidden)

/* debug.c: guards and poison, with GRIDBUF_DEBUG=1. */
#define GB_HEAP_TRAILER 512 /* bytes at a block's end that a guard and its records take */
void gb_heap_debug_taken(gb_heap_header *h, int64_t span, int fresh);
void gb_heap_debug_released(gb_heap_header *h);
void gb_heap_debug_slab(gb_heap_slab *s); /* all blocks, before their memory goes */

/* extents.c: slabs in their bins, in the cache and among all; free memory of any size. */
void gb_heap_bin_push(gb_heap_slab *s);
void gb_heap_bin_remove(gb_heap_slab *s);
void gb_heap_cache_push(gb_heap_slab *s);
void gb_heap_cache_remove(gb_heap_slab *s);

/* A slab for blocks of `reserve` bytes, in its bin, cut from the smallest free extent that has
 * `bytes`; 0: there is none. */
int gb_heap_cut(int64_t reserve, int64_t bytes);

/* The same from a new mapping of zero pages, whose rest is a free extent; -1 without memory for
 * their records. */
int gb_heap_add_mapping(int64_t reserve, int64_t slab_bytes, void *memory, int64_t bytes);

/* Empty large slabs, and with `small` those of small blocks, become free extents, joined with free
 * neighbours. */
void gb_heap_join(int small);

/* Cached slabs, oldest first: all that are too old, and more until at most keep bytes of them are
 * left, linked by next. The caller unmaps them without the lock. */
gb_heap_slab *gb_heap_detach(int64_t keep);

/* policy.c: bytes of free memory to keep. The caller of gb_heap_find_bound, which reads files, does
 * not hold the lock. */
int64_t gb_heap_bound(void);
void gb_heap_find_bound(void);

/* policy.c: bytes that a block has for a choice of places; a large block goes to one, and leaves.
 */
int64_t gb_heap_placement_room(int64_t span, int64_t boundary);
void gb_heap_place(const gb_heap_layout *want, gb_heap_slab *s, char *block);
void gb_heap_leave_place(gb_heap_header *h);

#pragma GCC visibility pop
