/* slab.h: the inside of the heap, for the files that make it up. */
#ifndef GRIDBUF_SLAB_H
#define GRIDBUF_SLAB_H

#include "heap.h"
#include "sizes.h"
#include "spin.h"

/* Room from a block's start to its data, where nothing else asks for more. */
#define LEAD ((GB_LEAD + GB_BLOCK_ALIGN - 1) / GB_BLOCK_ALIGN * GB_BLOCK_ALIGN)

/* Large blocks start on huge pages. Were they all to start at the same place in a page,
 * the arrays of a stencil would fall into the same cache sets and a store would look
 * like the load that follows it: each starts somewhere else in STAGGER bytes. */
#define STAGGER 4096

/* A free block links to the next where its header's slab was; the rest of the header
 * stays, and its magic says that it is free. */
typedef struct free_block { struct free_block *next; } free_block;

struct gb_slab {
    gb_slab *next, *prev;           /* in its bin, while it has free blocks */
    gb_slab *before, *after;        /* among all slabs */
    gb_slab *newer, *older;         /* in the cache, while no block is in use */
    free_block *free;
    char *memory, *bump, *end;      /* bump: blocks beyond were never used */
    int64_t bytes, block;
    int64_t idle_since;             /* seconds; while no block is in use */
    uint32_t used;
    int32_t bin, in_bin, stagger;
};

typedef struct gb_heap {
    gb_spin lock;
    gb_slab *bins[SMALL_BINS + LARGE_BINS];
    gb_slab *all;
    gb_slab *newest, *oldest;       /* slabs without a used block: the cache */
    int64_t empty_bytes;            /* in them */
    int64_t mapped_bytes;
    uint64_t next_id;
    uint32_t large_slabs;
    int64_t cache_age;              /* seconds that memory nobody uses is kept */
    int64_t now;                    /* the clock, read when a slab comes or a large block goes */
    gb_heap_stats stats;
} gb_heap;

extern __attribute__((visibility("hidden"))) gb_heap gb_the_heap;

static inline gb_header **gb_pointer_below(const void *data) {
    return (gb_header **)(((uintptr_t)data & ~(uintptr_t)7) - sizeof(gb_header *));
}

static inline gb_header *gb_header_of(const void *data) { return *gb_pointer_below(data); }

/* Built with the address sanitizer (tests/sanitize.sh), the bytes of a block that nobody may
 * touch are known to it: a kernel that reads or writes them is stopped at once. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define gb_forbid(from, to) __asan_poison_memory_region((from), (size_t)((char *)(to) - (char *)(from)))
#define gb_allow(from, to) __asan_unpoison_memory_region((from), (size_t)((char *)(to) - (char *)(from)))
#else
#define gb_forbid(from, to) ((void)(from), (void)(to))
#define gb_allow(from, to) ((void)(from), (void)(to))
#endif

/* debug.c: guards and poison, with GRIDBUF_DEBUG=1. The caller holds the lock. */
#define TRAILER 512   /* bytes at a block's end that a guard and its records take */
void gb_debug_taken(gb_header *h, int64_t span, int fresh);
void gb_debug_released(gb_header *h);
void gb_debug_slab(gb_slab *s);   /* all blocks, before their memory goes */

#endif
