/* slab.h: the inside of the heap, for the files that make it up. */
#pragma once

#include "block.h"
#include "sizes.h"
#include "spin.h"

/* Room from a block's start to its data, where nothing else asks for more. */
#define GB_HEAP_DATA_ROOM ((GB_HEAP_HEADER_ROOM + GB_HEAP_BLOCK_ALIGN - 1) / GB_HEAP_BLOCK_ALIGN * GB_HEAP_BLOCK_ALIGN)

/* Large blocks start on huge pages. Were they all to start at the same place in a page,
 * the arrays of a stencil would fall into the same cache sets and a store would look
 * like the load that follows it: each starts somewhere else in GB_HEAP_COLOURS bytes. */
#define GB_HEAP_COLOURS 4096

/* A free block links to the next where its header's slab was; the rest of the header
 * stays, and its magic says that it is free. */
typedef struct gb_heap_free_block { struct gb_heap_free_block *next; } gb_heap_free_block;

struct gb_heap_slab {
    gb_heap_slab *next, *prev;           /* in its bin, while it has free blocks */
    gb_heap_slab *before, *after;        /* among all slabs */
    gb_heap_slab *newer, *older;         /* in the cache, while no block is in use */
    gb_heap_free_block *free;
    char *memory, *bump, *end;      /* bump: blocks beyond were never used */
    int64_t bytes, block;
    int64_t idle_since;             /* seconds; while no block is in use */
    uint32_t used;
    int32_t bin, in_bin, colour;
};

typedef struct gb_heap {
    gb_spin lock;
    gb_heap_slab *bins[GB_HEAP_SMALL_BINS + GB_HEAP_LARGE_BINS];
    gb_heap_slab *all;
    gb_heap_slab *newest, *oldest;       /* slabs without a used block: the cache */
    int64_t empty_bytes;            /* in them */
    int64_t mapped_bytes;
    uint64_t next_id;
    uint32_t large_slabs;
    int64_t cache_age;              /* seconds that memory nobody uses is kept */
    int64_t now;                    /* the clock, read when a slab comes or a large block goes */
    gb_heap_stats stats;
} gb_heap;

extern __attribute__((visibility("hidden"))) gb_heap gb_heap_state;

static inline gb_heap_header **gb_heap_pointer_below(const void *data) {
    return (gb_heap_header **)(((uintptr_t)data & ~(uintptr_t)7) - sizeof(gb_heap_header *));
}

static inline gb_heap_header *gb_heap_header_of(const void *data) { return *gb_heap_pointer_below(data); }

/* Built with the address sanitizer (tests/sanitize.sh), the bytes of a block that nobody may
 * touch are known to it: a kernel that reads or writes them is stopped at once. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define gb_heap_forbid(from, to) __asan_poison_memory_region((from), (size_t)((char *)(to) - (char *)(from)))
#define gb_heap_allow(from, to) __asan_unpoison_memory_region((from), (size_t)((char *)(to) - (char *)(from)))
#else
#define gb_heap_forbid(from, to) ((void)(from), (void)(to))
#define gb_heap_allow(from, to) ((void)(from), (void)(to))
#endif

/* debug.c: guards and poison, with GRIDBUF_DEBUG=1. The caller holds the lock. */
#define GB_HEAP_TRAILER 512   /* bytes at a block's end that a guard and its records take */
void gb_heap_debug_taken(gb_heap_header *h, int64_t span, int fresh);
void gb_heap_debug_released(gb_heap_header *h);
void gb_heap_debug_slab(gb_heap_slab *s);   /* all blocks, before their memory goes */
