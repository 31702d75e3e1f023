/* heap.h: the block heap. C circulates blocks, Go maps memory.
 *
 * A slab is a run of pages: many blocks of one small size class, or a single large
 * block. A free block waits on its slab's list; a slab with free blocks waits
 * in its bin, the one used last in front. Taking and releasing a block is a few
 * pointer moves under one lock, needs no Go and no Python, and works on any thread
 * and in a forked child (without a GIL each thread keeps a few blocks of its own: magazine.h). A
 * slab with no block in use is cache: it is unmapped, the least recently used first, when the cache
 * outgrows its bound.
 *
 * Every block starts with a gb_heap_header, and the eight bytes below its data point to
 * it, so that the pointer NumPy or a DLPack consumer holds is all that is needed to
 * release it.
 */
#pragma once

#include "block.h"
#include "numbers.h"
#include "process.h"

/* Results of gb_heap_take. */
enum { GB_HEAP_TAKEN = 0, GB_HEAP_NEED_SLAB = 1, GB_HEAP_OVER_LIMIT = 2 };

/* How many bytes a block for (span, boundary) reserves; a multiple of 64. */
int64_t gb_heap_reserve(int64_t span, int64_t boundary);

/* gb_heap_take gives a block or says why not. fresh is set to 1 when the block's memory
 * is known to be zero. */
int gb_heap_take(const gb_heap_layout *want, void **data, int *fresh);

/* Make a used block's span zero without writing it, by taking new pages; -1 when
 * that is not worth it and the caller writes zeros. */
int gb_heap_zero(void *data, int64_t span);

/* gb_heap_slab_bytes is how much to map for a block of this size; gb_heap_add_slab hands the
 * mapping (map.h) over. */
int64_t gb_heap_slab_bytes(int64_t reserve);
int gb_heap_add_slab(int64_t reserve, void *memory, int64_t bytes);

/* gb_heap_refill maps and adds a slab without Go, for a forked child. 0 or -1. */
int gb_heap_refill(int64_t reserve);

void gb_heap_share(void *data);   /* one more view keeps the block */
void gb_heap_release(void *data); /* one fewer; the last one frees it */
uint64_t gb_heap_new_id(void);    /* for memory of another kind: numbers are never shared */
uint64_t gb_heap_block_id(const void *data);
void gb_heap_set_note(void *data, char *note); /* takes over note, from malloc */
int64_t gb_heap_block_bytes(const void *data); /* usable from data to the end */
int gb_heap_usable(const void *data,
                   int64_t span); /* the block may stay when its data becomes span bytes */

int64_t gb_heap_trim(int64_t keep); /* unmap cached slabs down to keep bytes; bytes given back */
void gb_heap_get_stats(gb_heap_stats *out);

/* One live block as gb_heap_live_blocks saw it. */
typedef struct gb_heap_live {
    uint64_t id, plan;
    int64_t bytes, age; /* seconds */
    const void *data;
    char note[200];
} gb_heap_live;

/* The largest live blocks, largest first: at most room of them; how many were written. */
int64_t gb_heap_live_blocks(gb_heap_live *out, int64_t room);
void gb_heap_set_limit(int64_t limit); /* bytes of live blocks; < 0 none */
void gb_heap_set_cache_bound(int64_t bytes);
