/* slab.h: the inside of the heap, for the files that make it up. */
#pragma once

#include "block.h"
#include "map.h"
#include "sizes.h"
#include "spin.h"

#include <stdlib.h>

/* Room from a block's start to its data, where nothing else asks for more. */
#define GB_HEAP_DATA_ROOM \
    ((GB_HEAP_HEADER_ROOM + GB_HEAP_BLOCK_ALIGN - 1) / GB_HEAP_BLOCK_ALIGN * GB_HEAP_BLOCK_ALIGN)

/* Large blocks start on huge pages. Were they all to start at the same place in a page,
 * the arrays of a stencil would fall into the same cache sets and a store would look
 * like the load that follows it: each starts somewhere else in GB_HEAP_COLOURS bytes. */
#define GB_HEAP_COLOURS 4096

/* A free block links to the next where its header's slab was; the rest of the header
 * stays, and its magic says that it is free. */
typedef struct gb_heap_free_block {
    struct gb_heap_free_block *next;
} gb_heap_free_block;

struct gb_heap_slab {
    gb_heap_slab *next,
        *prev; /* in its bin, while it has free blocks; a free extent's children in the tree */
    gb_heap_slab *left, *right;   /* neighbours by address within its mapping */
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
    int8_t placed; /* its block in use is counted in placement.c */
};

typedef struct gb_heap {
    gb_spin lock;
    gb_heap_slab *bins[GB_HEAP_SMALL_BINS + GB_HEAP_LARGE_BINS];
    gb_heap_slab *all;
    gb_heap_slab *extents;         /* free memory of any size (extents.h) */
    gb_heap_slab *newest, *oldest; /* slabs without a used block: the cache */
    int64_t empty_bytes;           /* in them */
    int64_t mapped_bytes;
    int bound_is_set; /* by GRIDBUF_CACHE or a call; else what is live counts, too */
    int bound_is_known;
    uint64_t next_id;
    uint32_t large_slabs;
    int64_t cache_age; /* seconds that memory nobody uses is kept */
    int64_t now;       /* the clock, read when a slab comes or a large block goes */
    gb_heap_stats stats;
} gb_heap;

extern __attribute__((visibility("hidden"))) gb_heap gb_heap_state;

static inline gb_heap_header **gb_heap_pointer_below(const void *data) {
    return (gb_heap_header **)(((uintptr_t)data & ~(uintptr_t)7) - sizeof(gb_heap_header *));
}

static inline gb_heap_header *gb_heap_header_of(const void *data) {
    return *gb_heap_pointer_below(data);
}

/* Built with the address sanitizer (tests/sanitize.sh), the bytes of a block that nobody may
 * touch are known to it: a kernel that reads or writes them is stopped at once. */
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

/* Where a block's data starts. */
static inline char *gb_heap_data_in(const gb_heap_layout *w, char *block, int64_t colour) {
    block += w->boundary < GB_HEAP_COLOURS ? colour : 0;
    if (w->boundary <= GB_HEAP_BLOCK_ALIGN && (w->boundary & (w->boundary - 1)) == 0)
        return block + GB_HEAP_DATA_ROOM + w->offset;
    uintptr_t low = (uintptr_t)block + GB_HEAP_DATA_ROOM, b = (uintptr_t)w->boundary;
    return (char *)((low - w->offset + b - 1) / b * b + w->offset);
}

/* A block is taken: its header; where its data is. The caller writes the pointer below, after the
 * guards. */
static inline char *gb_heap_dress(const gb_heap_layout *want, gb_heap_slab *s, char *block,
                                  uint64_t id) {
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

/* Who holds the only share need not count it down: nobody else can take one. */
static inline int gb_heap_last_share(gb_heap_header *h) {
    if (__builtin_expect(h->magic != GB_HEAP_LIVE, 0)) abort(); /* freed twice, or not ours */
    return __atomic_load_n(&h->shares, __ATOMIC_ACQUIRE) == 1 ||
           __atomic_sub_fetch(&h->shares, 1, __ATOMIC_ACQ_REL) == 0;
}

#pragma GCC visibility push(hidden)

/* heap.c: what serves all threads. */
int gb_heap_take_shared(const gb_heap_layout *want, void **data, int *fresh);
void gb_heap_release_shared(void *data);
void gb_heap_free_shared(gb_heap_header *h); /* whose last share is gone */

/* The caller holds the lock. A block of a small size, for a thread's own use; NULL: none is free.
 * It and its header's slab stay each other's; its magic is GB_HEAP_FREED, or 0 where it was never
 * used. Back into its slab. */
gb_heap_header *gb_heap_draw(int64_t reserve);
void gb_heap_put(gb_heap_header *h);

/* lists.c; the caller holds the lock. */
void gb_heap_bin_push(gb_heap_slab *s);
void gb_heap_bin_remove(gb_heap_slab *s);
void gb_heap_cache_push(gb_heap_slab *s);
void gb_heap_cache_remove(gb_heap_slab *s);
void gb_heap_list(gb_heap_slab *s);
void gb_heap_unlist(gb_heap_slab *s);

/* Cached slabs, oldest first: all that are too old, and more until at most keep bytes of them are
 * left. The caller destroys them without the lock. */
gb_heap_slab *gb_heap_detach(int64_t keep);
int64_t gb_heap_destroy(gb_heap_slab *gone); /* how many bytes */

/* placement.c: bytes that a block has for a choice of places. With the lock held: a large block
 * goes to one, and leaves it. */
int64_t gb_heap_placement_room(int64_t span, int64_t boundary);
void gb_heap_place(const gb_heap_layout *want, gb_heap_slab *s, char *block);
void gb_heap_leave_place(gb_heap_header *h);

#pragma GCC visibility pop

/* debug.c: guards and poison, with GRIDBUF_DEBUG=1. The caller holds the lock. */
#define GB_HEAP_TRAILER 512 /* bytes at a block's end that a guard and its records take */
void gb_heap_debug_taken(gb_heap_header *h, int64_t span, int fresh);
void gb_heap_debug_released(gb_heap_header *h);
void gb_heap_debug_slab(gb_heap_slab *s); /* all blocks, before their memory goes */
