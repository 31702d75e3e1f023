/* settings.c: counters, bounds, what the environment asks for, and fork. */
#include "bound.h"
#include "heap.h"
#include "magazine.h"
#include "map.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define heap gb_heap_state

int gb_forked;

void gb_heap_get_stats(gb_heap_stats *out) {
    gb_heap_lock_all();
    *out = heap.stats;
    out->cached_bytes = heap.mapped_bytes - heap.stats.live_bytes;
    out->cache_bound = gb_heap_bound();
    gb_heap_unlock_all();
    out->hits = out->allocations - out->misses;
}

void gb_heap_set_limit(int64_t limit) {
    gb_heap_lock_all();
    heap.stats.limit = limit < 0 ? -1 : limit;
    gb_heap_allow_magazines(limit < 0);
    gb_heap_unlock_all();
}

void gb_heap_set_cache_bound(int64_t bytes) {
    gb_spin_lock(&heap.lock);
    heap.stats.cache_bound = bytes;
    heap.bound_is_set = heap.bound_is_known = 1;
    gb_spin_unlock(&heap.lock);
    gb_heap_trim(bytes);
}

/* ---- fork: hold the locks across it, so that the child finds the heap whole ---- */

static void before_fork(void) { gb_heap_lock_all(); }
static void after_fork_parent(void) { gb_heap_unlock_all(); }
static void after_fork_child(void) {
    gb_heap_forget_threads();
    gb_heap_unlock_all();
    gb_forked++;
}

/* "268435456", "256M", "2G" -> bytes; anything else leaves what is there. */
static int64_t read_bytes(const char *text, int64_t otherwise) {
    char *unit;
    if (!text || *text < '0' || *text > '9') return otherwise;
    int64_t n = strtoll(text, &unit, 10);
    int shift = *unit == 'K' ? 10 : *unit == 'M' ? 20 : *unit == 'G' ? 30 : 0;
    return n > (INT64_MAX >> shift) ? otherwise : n << shift;
}

__attribute__((constructor)) static void start(void) {
    heap.stats.cache_bound = read_bytes(gb_setting("GRIDBUF_CACHE"), -1);
    heap.bound_is_set = heap.bound_is_known = heap.stats.cache_bound >= 0;
    if (!heap.bound_is_set) heap.stats.cache_bound = gb_heap_physical_memory() / 8;
    gb_debugging = gb_setting_is("GRIDBUF_DEBUG", "1");
    heap.cache_age = read_bytes(gb_setting("GRIDBUF_CACHE_AGE"), 60);
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* Once more as the process ends: a buffer that nobody freed or used again was not looked at. */
__attribute__((destructor)) static void at_exit(void) {
    if (!gb_debugging) return;
    gb_spin_lock(&heap.lock);
    for (gb_heap_slab *s = heap.all; s; s = s->after) gb_heap_debug_slab(s);
    gb_spin_unlock(&heap.lock);
}
