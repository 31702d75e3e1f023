/* extents.h: free memory of any size, for the files that make up the heap. The caller holds the
 * heap's lock.
 *
 * An extent is a run of pages within one mapping: a slab in use, an empty slab, or a free extent,
 * which is cut to the size of any request. `left` and `right` are its neighbours by address. An
 * empty slab keeps its size, for the next request of that size, until another size finds no memory.
 */
#pragma once

#include "slab.h"

#pragma GCC visibility push(hidden)

/* A slab for blocks of `reserve` bytes, in its bin, cut from the smallest free extent that has
 * `bytes`; 0: there is none. */
int gb_heap_cut(int64_t reserve, int64_t bytes);

/* The same of a new mapping of zero pages, whose rest is a free extent; -1 without memory for their
 * records. */
int gb_heap_add_mapping(int64_t reserve, int64_t slab_bytes, void *memory, int64_t bytes);

/* A free extent that is to be unmapped leaves the tree and its neighbours. */
void gb_heap_take_out(gb_heap_slab *s);

/* Empty large slabs, and with `small` those of small blocks, become free extents, joined with free
 * neighbours. */
void gb_heap_join(int small);

#pragma GCC visibility pop
