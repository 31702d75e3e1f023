/* block.h: the records of the heap: a block's header, its requirements, counters, and a block in
 * use as the heap lists it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GB_HEAP_BLOCK_ALIGN 64       /* every block starts at a multiple of this */
#define GB_HEAP_SMALL_MAX (64 << 10) /* largest block that shares a slab */

typedef struct gb_heap_slab gb_heap_slab;

typedef struct gb_heap_header {
    gb_heap_slab *slab;
    char *data;
    char *note; /* two lines from malloc: where the block was made, and what it is; NULL: not traced
                 */
    uint64_t id;    /* never used again */
    uint64_t plan;  /* the serial number of the plan it was made for, or 0 */
    int32_t shares; /* views and capsules that keep the block; atomic */
    uint32_t magic; /* GB_HEAP_LIVE or GB_HEAP_FREED */
    int64_t born;   /* seconds of gb_heap_seconds */
} gb_heap_header;

#define GB_HEAP_LIVE 0x67624c56u
#define GB_HEAP_FREED 0x67624652u
#define GB_HEAP_HEADER_ROOM ((int64_t)sizeof(gb_heap_header) + 8) /* room below the data */

/* Requirements of a block: data == offset (mod boundary). */
typedef struct gb_heap_layout {
    int64_t span;     /* bytes from element 0 on */
    int64_t boundary; /* bytes; any positive number */
    int64_t offset;   /* 0 <= offset < boundary */
    int64_t reserve;  /* gb_heap_reserve(span, boundary) */
    uint64_t plan;    /* the plan's serial number, or 0 */
} gb_heap_layout;

typedef struct gb_heap_stats {
    int64_t live_bytes, cached_bytes, peak_bytes, live_buffers;
    int64_t allocations, hits, misses, limit, cache_bound;
} gb_heap_stats;

/* One live block. */
typedef struct gb_heap_live {
    uint64_t id, plan;
    int64_t bytes, age; /* seconds */
    const void *data;
    char note[200];
} gb_heap_live;
