/* entries.c: what Go planned, a call or a reduction, kept per gufunc under the encoded
 * request: one seen before enters no Go, and a forked child lives on these. */
#include "gufunc.h"

static uint64_t hash_of(const int64_t *encoding, int64_t n) {
    uint64_t h = (uint64_t)n;
    for (int64_t i = 0; i < n; i++) {
        h = (h ^ (uint64_t)encoding[i]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return h;
}

static int is_it(const gb_py_entry *e, const int64_t *encoding, int64_t n) {
    return e->n == n && memcmp(e->encoding, encoding, (size_t)n * sizeof *encoding) == 0;
}

/* The entry at a place comes to the front of its set. */
static gb_py_entry *to_front(gb_py_entries *all, gb_py_entry **set, int way, gb_py_entry *e) {
    for (int k = way; k > 0; k--) set[k] = set[k - 1];
    return all->latest = set[0] = e;
}

gb_py_entry *gb_py_entries_find(gb_py_entries *all, const int64_t *encoding, int64_t n,
                                uint64_t *hash) {
    if (all->latest && is_it(all->latest, encoding, n)) return all->latest->refs++, all->latest;
    *hash = hash_of(encoding, n);
    gb_py_entry **set = all->sets[*hash % GB_PY_SETS];
    for (int way = 0; way < GB_PY_WAYS && set[way]; way++) {
        gb_py_entry *e = set[way];
        if (e->hash == *hash && is_it(e, encoding, n)) return e->refs++, to_front(all, set, way, e);
    }
    return NULL;
}

const gb_gu_call *gb_py_entries_of_kernel(const gb_py_entries *all, int kernel) {
    for (int s = 0; s < GB_PY_SETS; s++)
        for (int way = 0; way < GB_PY_WAYS && all->sets[s][way]; way++)
            if (all->sets[s][way]->encoding[0] == kernel) return all->sets[s][way]->call;
    return NULL;
}

gb_py_entry *gb_py_entries_keep(gb_py_entries *all, const int64_t *encoding, int64_t n,
                                uint64_t hash, void *plan, void (*free_plan)(void *)) {
    gb_py_entry *e = malloc(sizeof *e + (size_t)n * sizeof *encoding),
                **set = all->sets[hash % GB_PY_SETS];
    if (!e) return free_plan(plan), (gb_py_entry *)PyErr_NoMemory();
    *e = (gb_py_entry){.plan = plan, .free_plan = free_plan, .hash = hash, .refs = 2, .n = n};
    memcpy(e->encoding, encoding, (size_t)n * sizeof *encoding);
    if (set[GB_PY_WAYS - 1]) gb_py_entry_drop(set[GB_PY_WAYS - 1]);
    return to_front(all, set, GB_PY_WAYS - 1, e);
}

void gb_py_entry_drop(gb_py_entry *e) {
    if (--e->refs) return;
    e->free_plan(e->plan);
    free(e);
}

void gb_py_entries_clear(gb_py_entries *all) {
    for (int s = 0; s < GB_PY_SETS; s++)
        for (int way = 0; way < GB_PY_WAYS && all->sets[s][way]; way++)
            gb_py_entry_drop(all->sets[s][way]);
}
