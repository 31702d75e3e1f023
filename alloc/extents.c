/* extents.c: the memory of slabs: which wait where, and how free memory serves any size. Neighbours
 * are joined, the best fit is cut, and the extent used longest ago is unmapped. The caller holds
 * the heap's lock. */
#include "slab.h"

#include <stdlib.h>

#define heap gb_heap_state

gb_heap gb_heap_state = {.stats = {.limit = -1}};

/* ---- lists: the bin of a size, the cache, all slabs ---- */

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

static void list(gb_heap_slab *s) {
    s->before = NULL;
    s->after = heap.all;
    if (heap.all) heap.all->before = s;
    heap.all = s;
}

static void unlist(gb_heap_slab *s) {
    if (s->before) s->before->after = s->after;
    else heap.all = s->after;
    if (s->after) s->after->before = s->before;
}

/* ---- free extents by size, then address: a treap whose priorities are hashed addresses ---- */

static uint64_t priority(const gb_heap_slab *s) {
    return (uintptr_t)s->memory * 0x9E3779B97F4A7C15u;
}

static int precedes(const gb_heap_slab *a, const gb_heap_slab *b) {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->memory < b->memory;
}

static void tree_insert(gb_heap_slab *s) {
    gb_heap_slab **at = &heap.extents;
    while (*at && priority(*at) >= priority(s)) at = precedes(s, *at) ? &(*at)->prev : &(*at)->next;
    gb_heap_slab *rest = *at, **low = &s->prev, **high = &s->next;
    *at = s;
    while (rest) /* divide the subtree: before s, and after it */
        if (precedes(rest, s)) {
            *low = rest;
            low = &rest->next;
            rest = *low;
        } else {
            *high = rest;
            high = &rest->prev;
            rest = *high;
        }
    *low = *high = NULL;
    s->in_tree = 1;
}

static void tree_remove(gb_heap_slab *s) {
    gb_heap_slab **at = &heap.extents;
    while (*at != s) at = precedes(s, *at) ? &(*at)->prev : &(*at)->next;
    gb_heap_slab *low = s->prev, *high = s->next;
    while (low && high)
        if (priority(low) > priority(high)) {
            *at = low;
            at = &low->next;
            low = *at;
        } else {
            *at = high;
            at = &high->prev;
            high = *at;
        }
    *at = low ? low : high;
    s->in_tree = 0;
}

static gb_heap_slab *best_fit(int64_t bytes) {
    gb_heap_slab *best = NULL;
    for (gb_heap_slab *s = heap.extents; s;) {
        if (s->bytes >= bytes) {
            best = s;
            s = s->prev;
        } else {
            s = s->next;
        }
    }
    return best;
}

/* ---- joining ---- */

static void absorb(gb_heap_slab *s, gb_heap_slab *other) {
    gb_heap_cache_remove(other);
    if (other->in_tree) tree_remove(other);
    else gb_heap_bin_remove(other);
    unlist(other);
    if (other == s->left) {
        s->memory = other->memory;
        s->left = other->left;
        if (s->left) s->left->right = s;
    } else {
        s->end = other->end;
        s->right = other->right;
        if (s->right) s->right->left = s;
    }
    s->bytes += other->bytes;
    s->clean &= other->clean && other->bump == other->memory;
    heap.empty_bytes += other->bytes; /* gb_heap_cache_remove took them off */
    free(other);
}

static int may_join(const gb_heap_slab *s, int small) {
    return s && !s->used && (s->in_tree || small || s->block > GB_HEAP_SMALL_MAX);
}

void gb_heap_join(int small) {
    if (gb_debugging) return; /* a block's next user looks for its guards where they are */
    for (gb_heap_slab *s = heap.newest; s && (small || !s->in_tree); s = s->older) {
        if (s->in_tree || !may_join(s, small)) continue;
        gb_heap_bin_remove(s);
        if (s->bump > s->memory) s->clean = 0;
        while (may_join(s->left, small)) absorb(s, s->left);
        while (may_join(s->right, small)) absorb(s, s->right);
        s->free = NULL;
        s->bump = s->memory;
        s->block = 0;
        tree_insert(s);
    }
}

/* ---- cutting ---- */

static void serve(gb_heap_slab *s, int64_t reserve) {
    s->block = reserve;
    s->bin = gb_heap_bin(reserve);
    s->bump = s->memory;
    s->mapped = 0;
    s->colour = reserve > GB_HEAP_SMALL_MAX ? heap.large_slabs++ * 13 % 64 * 64 : 0;
    gb_heap_bin_push(s);
}

/* The bytes beyond the first `bytes` of an extent become one of their own; -1 without memory for
 * its record. */
static int split(gb_heap_slab *s, int64_t bytes) {
    if (s->bytes == bytes) return 0;
    gb_heap_slab *rest = calloc(1, sizeof *rest);
    if (!rest) return -1;
    rest->memory = rest->bump = s->memory + bytes;
    rest->end = s->end;
    rest->bytes = s->bytes - bytes;
    rest->clean = s->clean;
    rest->left = s;
    rest->right = s->right;
    if (rest->right) rest->right->left = rest;
    s->right = rest;
    s->end = rest->memory;
    s->bytes = bytes;
    list(rest);
    tree_insert(rest);
    gb_heap_cache_push(rest);
    return 0;
}

int gb_heap_cut(int64_t reserve, int64_t bytes) {
    gb_heap_slab *s = best_fit(bytes);
    if (!s) return 0;
    tree_remove(s);
    gb_heap_cache_remove(s);
    int cut = split(s, bytes) == 0;
    if (cut) serve(s, reserve);
    else tree_insert(s);
    gb_heap_cache_push(s);
    return cut;
}

int gb_heap_add_mapping(int64_t reserve, int64_t slab_bytes, void *memory, int64_t bytes) {
    gb_heap_slab *s = calloc(1, sizeof *s);
    if (!s) return -1;
    s->memory = s->bump = memory;
    s->end = s->memory + bytes;
    s->bytes = bytes;
    s->clean = 1;
    if (split(s, slab_bytes) < 0) {
        free(s);
        return -1;
    }
    heap.mapped_bytes += bytes;
    list(s);
    serve(s, reserve);
    s->mapped = 1;
    gb_heap_cache_push(s);
    return 0;
}

/* ---- unmapping ---- */

/* A free extent that is to be unmapped leaves the tree and its neighbours. */
static void take_out(gb_heap_slab *s) {
    if (s->in_tree) tree_remove(s);
    else gb_heap_bin_remove(s);
    if (s->left) s->left->right = NULL;
    if (s->right) s->right->left = NULL;
}

gb_heap_slab *gb_heap_detach(int64_t keep) {
    gb_heap_slab *gone = NULL;
    int64_t too_old = heap.now - heap.cache_age;
    while (heap.oldest && (heap.empty_bytes > keep || heap.oldest->idle_since < too_old)) {
        gb_heap_slab *s = heap.oldest;
        gb_heap_cache_remove(s);
        take_out(s);
        unlist(s);
        heap.mapped_bytes -= s->bytes;
        s->next = gone;
        gone = s;
    }
    return gone;
}
