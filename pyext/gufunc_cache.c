/* gufunc_cache.c: resolved calls, kept per gufunc under the words that ask for them,
 * so that a call seen before enters no Go; a forked child lives on these. */
#include "gufunc.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WORDS ((GB_MAXARGS + 1) * (1 + 3 * GB_MAXDIMS) + 2 + GB_MAXCORE)
#define WITH_SIZES (1 << 9)

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
    *w++ = v->nop | v->has_where << 8 | (v->nsizes > 0 ? WITH_SIZES : 0);
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

/* The shape of an operand for output_dims: its core axes are the last. */
static PyObject *shape_of(const gb_arg *a) {
    if (a->absent) Py_RETURN_NONE;
    return gb_ints_tuple(a->shape, a->ndim);
}

/* Core sizes that neither operands nor the signature tell: Python asks output_dims or NumPy.
 * They follow from the shapes, which are part of the words, so they are asked for once. */
static int64_t add_sizes(gb_invocation *v, int64_t *words, int64_t n) {
    PyObject *shapes = PyTuple_New(v->nop), *sizes = NULL;
    for (int i = 0; shapes && i < v->nop; i++) {
        PyObject *shape = shape_of(&v->arg[i]);
        if (!shape || PyTuple_SetItem(shapes, i, shape) < 0) Py_CLEAR(shapes);
    }
    if (shapes) sizes = PyObject_CallMethod((PyObject *)v->gufunc, "_sizes", "Oi", shapes, v->kernel);
    int known = sizes ? gb_ints(sizes, "output_dims", words + n, GB_MAXCORE) : -1;
    Py_XDECREF(shapes);
    Py_XDECREF(sizes);
    if (known > 0) words[1] |= WITH_SIZES;
    return known < 0 ? -1 : n + known;
}

static gb_entry *refuse_fork(gb_invocation *v) {
    PyObject *name = PyObject_GetAttrString((PyObject *)v->gufunc, "name");
    if (name)
        PyErr_Format(PyExc_RuntimeError, "%S: a call with these shapes and types was not made before the fork, and a new one needs the "
                     "Go runtime, which a forked child does not have; make it once in the parent, or start processes with "
                     "multiprocessing's 'spawn' or 'forkserver'", name);
    Py_XDECREF(name);
    return NULL;
}

static gb_entry *resolve(gb_invocation *v, int64_t *words, int64_t n, uint64_t hash) {
    gb_error error;
    gb_call *call = NULL;
    int64_t asked = n, flags = words[1];
    if (gb_forked) return refuse_fork(v);
    if (v->asks_sizes && (asked = add_sizes(v, words, n)) < 0) return NULL;
    if (GB_ENTER_GO(&error, gbridge_gufunc_resolve(v->gufunc->info.id, words, asked, &call, &error)) < 0) return NULL;
    words[1] = flags;
    gb_entry *e = malloc(sizeof *e + (size_t)n * sizeof *words);
    if (!e) {
        gb_call_free(call);
        return (gb_entry *)PyErr_NoMemory();
    }
    *e = (gb_entry){.call = call, .hash = hash, .refs = 2, .n = n};
    memcpy(e->words, words, (size_t)n * sizeof *words);
    return e;
}

gb_entry *gb_entry_for(gb_invocation *v) {
    int64_t words[MOST_WORDS];
    int64_t n = put_words(words, v);
    uint64_t hash = hash_of(words, n);
    gb_entry **set = v->gufunc->entries + hash % GB_SETS * GB_WAYS;
    for (int way = 0; way < GB_WAYS && set[way]; way++) {
        gb_entry *e = set[way];
        if (e->hash != hash || e->n != n || memcmp(e->words, words, (size_t)n * sizeof *words)) continue;
        for (int k = way; k > 0; k--) set[k] = set[k - 1];
        set[0] = e;
        e->refs++;
        return e;
    }
    gb_entry *e = resolve(v, words, n, hash);
    if (!e) return NULL;
    if (set[GB_WAYS - 1]) gb_entry_drop(set[GB_WAYS - 1]);
    for (int k = GB_WAYS - 1; k > 0; k--) set[k] = set[k - 1];
    set[0] = e;
    return e;
}
