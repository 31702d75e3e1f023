/* lists.c: where slabs wait: in the bin of their size while they have free blocks, in the cache
 * while no block of them is in use, and among all. The caller holds the heap's lock. */
#include "slab.h"

#define heap gb_heap_state

gb_heap gb_heap_state = {.stats = {.limit = -1}};

void gb_heap_bin_push(gb_heap_slab *s) {
    gb_heap_slab **first = &heap.bins[s->bin];
    s->prev = NULL;
    s->next = *first;
    if (*first) (*first)->prev = s;
    *first = s;
    s->in_bin = 1;
}

void gb_heap_bin_remove(gb_heap_slab *s) {
    if (s->prev) s->prev->next = s->next;
    else heap.bins[s->bin] = s->next;
    if (s->next) s->next->prev = s->prev;
    s->in_bin = 0;
}

void gb_heap_cache_push(gb_heap_slab *s) {
    s->newer = NULL;
    s->older = heap.newest;
    if (heap.newest) heap.newest->newer = s;
    else heap.oldest = s;
    heap.newest = s;
    heap.empty_bytes += s->bytes;
    s->idle_since = heap.now;
}

void gb_heap_cache_remove(gb_heap_slab *s) {
    if (s->newer) s->newer->older = s->older;
    else heap.newest = s->older;
    if (s->older) s->older->newer = s->newer;
    else heap.oldest = s->newer;
    heap.empty_bytes -= s->bytes;
}

void gb_heap_list(gb_heap_slab *s) {
    s->before = NULL;
    s->after = heap.all;
    if (heap.all) heap.all->before = s;
    heap.all = s;
}

void gb_heap_unlist(gb_heap_slab *s) {
    if (s->before) s->before->after = s->after;
    else heap.all = s->after;
    if (s->after) s->after->before = s->before;
}
