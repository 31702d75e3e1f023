/* gufunc_reduce_cache.c: which kernel folds which types, and planned reductions under the
 * words that ask for them: a reduction seen before enters neither Go nor Python code. */
#include "gufunc_reduce.h"
#include "upcall.h"

#include <stdlib.h>
#include <string.h>

#define MOST_CHOICES 256
#define ENTRIES 256
#define MOST_WORDS (2 + GB_MAXDIMS + (GB_MAXARGS + 2) * (1 + 3 * GB_MAXDIMS))

struct gb_reducers {
    int nchoices;
    gb_folding *choices[MOST_CHOICES];
    gb_planned *entries[ENTRIES];
};

static gb_reducers *reducers_of(gb_gufunc_object *g) {
    if (!g->reducers && !(g->reducers = calloc(1, sizeof *g->reducers))) PyErr_NoMemory();
    return g->reducers;
}

void gb_reducers_free(gb_gufunc_object *g) {
    gb_reducers *all = g->reducers;
    if (!all) return;
    for (int i = 0; i < all->nchoices; i++) free(all->choices[i]);
    for (int i = 0; i < ENTRIES; i++)
        if (all->entries[i]) gb_planned_drop(all->entries[i]);
    free(all);
}

/* ---- the kernel ---- */

/* gridbuf.gufunc.reduction.choose(g, array, dtype, out, ordered, extras)
 * -> (kernel, has a state, sequential, type, identity or None) */
static int ask(gb_reduce_args *q, gb_folding *c) {
    PyObject *found = gb_upcall_to(UP_REDUCE_CHOOSE, "(Oiiiii)", (PyObject *)q->gufunc, c->array, c->dtype, c->out, c->ordered, c->extras);
    if (!found) return -1;
    const char *identity = NULL;
    Py_ssize_t n = 0;
    int kernel, state, sequential, type, ok = PyArg_ParseTuple(found, "ippiz#:choose", &kernel, &state, &sequential, &type, &identity, &n);
    if (ok && n > GB_MAX_ITEM) {
        PyErr_Format(PyExc_ValueError, "identity: an element has at most %d bytes, this one %zd", GB_MAX_ITEM, n);
        ok = 0;
    }
    if (ok) {
        c->kernel = kernel, c->state = (uint8_t)state, c->sequential = (uint8_t)sequential, c->type = (uint8_t)type;
        c->has_identity = identity != NULL;
        if (identity) memcpy(c->identity, identity, (size_t)n);
    }
    Py_DECREF(found);
    return ok ? 0 : -1;
}

const gb_folding *gb_folding_for(gb_reduce_args *q, uint8_t array, uint8_t out) {
    gb_folding key = {.array = array, .dtype = q->dtype, .out = out, .ordered = (uint8_t)q->ordered,
                     .extras = q->where || q->initial};
    gb_reducers *all = reducers_of(q->gufunc);
    if (!all) return NULL;
    for (int i = 0; i < all->nchoices; i++)
        if (memcmp(all->choices[i], &key, offsetof(gb_folding, state)) == 0) return all->choices[i];
    if (ask(q, &key) < 0) return NULL;
    if (all->nchoices == MOST_CHOICES) {
        PyErr_SetString(PyExc_RuntimeError, "reduce: too many combinations of types");
        return NULL;
    }
    gb_folding *kept = malloc(sizeof *kept);
    if (!kept) return (gb_folding *)PyErr_NoMemory();
    *kept = key;
    return all->choices[all->nchoices++] = kept;
}

/* ---- the plan ---- */

static int64_t *put_view(int64_t *w, const gb_view *v) {
    *w++ = v->type | v->swapped << 8 | v->misaligned << 9 | v->absent << 10 | v->named << 11 | (int64_t)v->ndim << 16;
    for (int d = 0; d < v->ndim; d++) *w++ = v->shape[d];
    for (int d = 0; d < v->ndim; d++) *w++ = v->strides[d];
    for (int d = 0; v->named && d < v->ndim; d++) *w++ = v->dims[d];
    return w;
}

static int64_t put_words(int64_t *words, const gb_reduce_args *q) {
    const gb_folding *c = q->choice;
    int64_t *w = words, nout = q->gufunc->info.nout;
    *w++ = c->kernel | (int64_t)c->state << 32;
    *w++ = (q->keepdims ? 1 : 0) | c->sequential << 1 | (q->ordered ? 4 : 0) | c->has_identity << 3 | (q->where ? 1 << 8 : 0) |
           nout << 16 | (int64_t)q->ngone << 24;
    for (int i = 0; i < q->ngone; i++) *w++ = q->gone[i];
    w = put_view(w, &q->view);
    if (q->where) w = put_view(w, &q->mask);
    for (int i = 0; i < nout; i++) w = put_view(w, &q->result[i]);
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

void gb_planned_drop(gb_planned *p) {
    if (--p->refs) return;
    gb_reduction_free(p->r);
    free(p);
}

gb_planned *gb_planned_for(gb_reduce_args *q) {
    int64_t words[MOST_WORDS];
    int64_t n = put_words(words, q);
    uint64_t hash = hash_of(words, n);
    gb_reducers *all = reducers_of(q->gufunc);
    if (!all) return NULL;
    gb_planned **place = &all->entries[hash % ENTRIES], *p = *place;
    if (p && p->hash == hash && p->n == n && memcmp(p->words, words, (size_t)n * sizeof *words) == 0) {
        p->refs++;
        return p;
    }
    gb_error error;
    gb_reduction *r = NULL;
    if (GB_ENTER_GO(&error, gbridge_gufunc_reduce(q->gufunc->info.id, words, n, &r, &error)) < 0) return NULL;
    p = malloc(sizeof *p + (size_t)n * sizeof *words);
    if (!p) {
        gb_reduction_free(r);
        return (gb_planned *)PyErr_NoMemory();
    }
    *p = (gb_planned){.r = r, .hash = hash, .refs = 2, .n = n};
    memcpy(p->words, words, (size_t)n * sizeof *words);
    if (*place) gb_planned_drop(*place);
    *place = p;
    return p;
}
