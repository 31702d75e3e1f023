/* gufunc_cache.c: resolved calls, kept per gufunc under the words that ask for them,
 * so that a call seen before enters no Go; a forked child lives on these. */
#include "gufunc.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WORDS ((GB_MAXARGS + 1) * (1 + 3 * GB_MAXDIMS) + 2 + GB_MAXCORE)

static int64_t *put_arg(int64_t *w, const gb_arg *a) {
    int named = !a->absent && a->ndims >= 0;
    *w++ = a->type | a->swapped << 8 | a->misaligned << 9 | a->absent << 10 | named << 11 | (int64_t)a->ndim << 16;
    for (int d = 0; d < a->ndim; d++) *w++ = a->shape[d];
    for (int d = 0; d < a->ndim; d++) *w++ = a->strides[d];
    for (int d = 0; named && d < a->ndim; d++) *w++ = a->dims[d];
    return w;
}

static int64_t put_words(int64_t *words, const gb_invocation *v) {
    int64_t *w = words;
    *w++ = v->kernel;
    *w++ = v->nop | v->has_where << 8 | (v->nsizes > 0) << 9;
    for (int i = 0; i < v->nop + v->has_where; i++) w = put_arg(w, &v->arg[i]);
    for (int i = 0; i < v->nsizes; i++) *w++ = v->sizes[i];
    return w - words;
}

static uint64_t hash_of(const int64_t *words, int64_t n) {
    uint64_t h = (uint64_t)n;
    for (int64_t i = 0; i < n; i++) {
        h = (h ^ (uint64_t)words[i]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return h;
}

void gb_entry_drop(gb_entry *entry) {
    if (--entry->refs) return;
    gb_call_free(entry->call);
    free(entry);
}

gb_entry *gb_entry_for(gb_invocation *v) {
    int64_t words[MOST_WORDS];
    int64_t n = put_words(words, v);
    uint64_t hash = hash_of(words, n);
    gb_entry **place = &v->gufunc->entries[hash % GB_ENTRIES], *e = *place;
    if (e && e->hash == hash && e->n == n && memcmp(e->words, words, (size_t)n * sizeof *words) == 0) {
        e->refs++;
        return e;
    }
    gb_error error;
    gb_call *call = NULL;
    if (GB_ENTER_GO(&error, gbridge_gufunc_resolve(v->gufunc->info.id, words, n, &call, &error)) < 0) return NULL;
    e = malloc(sizeof *e + (size_t)n * sizeof *words);
    if (!e) {
        gb_call_free(call);
        return (gb_entry *)PyErr_NoMemory();
    }
    *e = (gb_entry){.call = call, .hash = hash, .refs = 2, .n = n};
    memcpy(e->words, words, (size_t)n * sizeof *words);
    if (*place) gb_entry_drop(*place);
    *place = e;
    return e;
}
