/* heap.h: the block heap.
 *
 * A slab is a run of pages: many blocks of one small size class, or a single large block. A free
 * block waits on its slab's list; a slab with free blocks waits in its bin, the one used last in
 * front. Taking and releasing a block is a few pointer moves under one lock, without Go and without
 * Python, on any thread and in a forked child. A slab with no block in use is cache: it serves
 * other sizes, too (slab.h), and the least recently used is unmapped when the cache outgrows its
 * bound (policy.c).
 *
 * Every block starts with a gb_heap_header, and the eight bytes below its data point to the header:
 * the pointer that NumPy or a DLPack consumer holds is all that releasing needs.
 */
#pragma once

#include "block.h"
#include "numbers.h"
#include "system.h"

/* Bytes that a block for (span, boundary) reserves; a multiple of 64. */
int64_t gb_heap_reserve(int64_t span, int64_t boundary);

/* ---- taking and releasing ---- */

/* Take a block. fresh: its memory is known to be zero. After GB_HEAP_NEED_SLAB the caller calls
 * gb_heap_refill and tries again. */
enum { GB_HEAP_TAKEN = 0, GB_HEAP_NEED_SLAB = 1, GB_HEAP_OVER_LIMIT = 2 };
int gb_heap_take(const gb_heap_layout *want, void **data, int *fresh);

/* Find memory for a block of this size: free memory of other sizes, else a new mapping. 0, or -1
 * with errno set. */
int gb_heap_refill(int64_t reserve);

void gb_heap_share(void *data);   /* one more view keeps the block */
void gb_heap_release(void *data); /* one fewer; the last one frees the block */

/* Zero a used block's span without writing, by taking new pages; -1 where that is not worth its
 * price and the caller writes zeros. */
int gb_heap_zero(void *data, int64_t span);

uint64_t gb_heap_new_id(void); /* for memory of another kind: ids are unique over all kinds */
uint64_t gb_heap_block_id(const void *data);
int64_t gb_heap_block_bytes(const void *data); /* usable from data to the end */

/* Whether the block may stay when its data becomes span bytes. */
int gb_heap_usable(const void *data, int64_t span);

/* ---- the heap as a whole ---- */

void gb_heap_get_stats(gb_heap_stats *out);
int64_t gb_heap_trim(int64_t keep);    /* unmap free memory down to keep bytes; bytes given back */
void gb_heap_set_limit(int64_t limit); /* bytes of live blocks; < 0 none */
void gb_heap_set_cache_bound(int64_t bytes);

/* An eighth of the machine's memory, or a quarter of the control groups' limit, over the ranks of
 * an MPI program here. The root of the file system is "" but in tests. */
int64_t gb_heap_memory_share(const char *root);

/* ---- blocks in use ---- */

void gb_heap_set_note(void *data, char *note); /* takes over note, from malloc */

/* The largest live blocks, largest first: at most room of them; how many were written. */
int64_t gb_heap_live_blocks(gb_heap_live *out, int64_t room);
