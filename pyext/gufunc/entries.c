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

/* The entry at a place comes to the front of its set. */
static gb_py_entry *to_front(gb_py_entry **set, int way, gb_py_entry *e) {
    for (int k = way; k > 0; k--) set[k] = set[k - 1];
    return set[0] = e;
}

gb_py_entry *gb_py_entries_find(gb_py_entry **entries, const int64_t *encoding, int64_t n, uint64_t *hash) {
    *hash = hash_of(encoding, n);
    gb_py_entry **set = entries + *hash % GB_PY_SETS * GB_PY_WAYS;
    for (int way = 0; way < GB_PY_WAYS && set[way]; way++) {
        gb_py_entry *e = set[way];
        if (e->hash != *hash || e->n != n || memcmp(e->encoding, encoding, (size_t)n * sizeof *encoding)) continue;
        e->refs++;
        return to_front(set, way, e);
    }
    return NULL;
}

gb_py_entry *gb_py_entries_keep(gb_py_entry **entries, const int64_t *encoding, int64_t n, uint64_t hash, void *plan,
                                void (*free_plan)(void *)) {
    gb_py_entry *e = malloc(sizeof *e + (size_t)n * sizeof *encoding), **set = entries + hash % GB_PY_SETS * GB_PY_WAYS;
    if (!e) return free_plan(plan), (gb_py_entry *)PyErr_NoMemory();
    *e = (gb_py_entry){.plan = plan, .free_plan = free_plan, .hash = hash, .refs = 2, .n = n};
    memcpy(e->encoding, encoding, (size_t)n * sizeof *encoding);
    if (set[GB_PY_WAYS - 1]) gb_py_entry_drop(set[GB_PY_WAYS - 1]);
    return to_front(set, GB_PY_WAYS - 1, e);
}

void gb_py_entry_drop(gb_py_entry *e) {
    if (--e->refs) return;
    e->free_plan(e->plan);
    free(e);
}

void gb_py_entries_clear(gb_py_entry **entries) {
    for (int i = 0; i < GB_PY_SETS * GB_PY_WAYS; i++)
        if (entries[i]) gb_py_entry_drop(entries[i]);
}
