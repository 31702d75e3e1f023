/* reduce_cache.c: which kernel folds which types, and planned reductions under the
 * encoded request: a reduction seen before enters neither Go nor Python code. */
#include "reducing.h"
#include "../core/upcall.h"

#define CHOICES 256

struct gb_py_reducers {
    unsigned made; /* so far: the oldest goes when there are more */
    gb_py_folding choices[CHOICES];
    gb_py_entries entries;
};

static gb_py_reducers *reducers_of(gb_py_gufunc_object *g) {
    if (!g->reducers && !(g->reducers = calloc(1, sizeof *g->reducers))) PyErr_NoMemory();
    return g->reducers;
}

void gb_py_reducers_free(gb_py_gufunc_object *g) {
    if (g->reducers) gb_py_entries_clear(&g->reducers->entries);
    free(g->reducers);
}

/* ---- the kernel ---- */

/* gridbuf.gufunc.choosing.choose_reduction(g, array, dtype, out, ordered, extras)
 * -> (kernel, has a state, sequential, type, identity or None) */
static int ask(gb_py_reduce_args *q, gb_py_folding *c) {
    GB_PY_OWNED PyObject *found =
        gb_py_upcall_to(GB_PY_UP_REDUCE_CHOOSE, "(Oiiiii)", (PyObject *)q->gufunc, c->array,
                        c->dtype, c->out, c->ordered, c->extras);
    if (!found) return -1;
    PyObject *identity_bytes;
    const char *identity = NULL;
    Py_ssize_t n = 0;
    int kernel, state, sequential, type;
    int ok = PyArg_ParseTuple(found, "ippiO:choose", &kernel, &state, &sequential, &type,
                              &identity_bytes);
    if (ok && identity_bytes != Py_None)
        ok = gb_py_bytes(identity_bytes, "identity", &identity, &n) == 0;
    if (ok && n > GB_GU_MAX_ITEM) {
        PyErr_Format(PyExc_ValueError, "identity: an element has at most %d bytes, this one %zd",
                     GB_GU_MAX_ITEM, n);
        ok = 0;
    }
    if (ok) {
        c->kernel = kernel, c->state = (uint8_t)state, c->sequential = (uint8_t)sequential,
        c->type = (uint8_t)type;
        c->has_identity = identity != NULL;
        if (identity) memcpy(c->identity, identity, (size_t)n);
    }
    return ok ? 0 : -1;
}

int gb_py_choose_folding(gb_py_reduce_args *q, uint8_t array, uint8_t out) {
    gb_py_folding *c = &q->choice;
    *c = (gb_py_folding){.array = array,
                         .dtype = q->dtype,
                         .out = out,
                         .ordered = (uint8_t)q->ordered,
                         .extras = q->where || q->initial};
    gb_py_reducers *all = reducers_of(q->gufunc);
    if (!all) return -1;
    for (unsigned i = 0; i < CHOICES && i < all->made; i++)
        if (memcmp(&all->choices[i], c, offsetof(gb_py_folding, state)) == 0)
            return *c = all->choices[i], 0;
    if (ask(q, c) < 0) return -1;
    all->choices[all->made++ % CHOICES] = *c;
    return 0;
}

/* ---- the plan ---- */

static int64_t *encode_view(int64_t *to, const gb_py_arg *v) {
    return gb_py_encode_operand(to, GB_PY_HEAD(v->type, v->swapped, v->misaligned, v->absent),
                                v->ndim, v->shape, v->strides, v->field ? v->dims : NULL);
}

static int64_t encode(int64_t *encoding, const gb_py_reduce_args *q) {
    const gb_py_folding *c = &q->choice;
    int64_t *w = encoding, nout = q->gufunc->info.nout, naxes = q->naxes < 0 ? 0 : q->naxes;
    *w++ = c->kernel | (int64_t)c->state << GB_BRIDGE_R_STATE;
    *w++ = (q->keepdims ? GB_BRIDGE_R_KEEPDIMS : 0) | c->sequential * GB_BRIDGE_R_SEQUENTIAL |
           (q->ordered ? GB_BRIDGE_R_ONE_BY_ONE : 0) | c->has_identity * GB_BRIDGE_R_IDENTITY |
           (c->sequential && !q->ordered && !c->state ? GB_BRIDGE_R_ONE_AXIS : 0) |
           (q->naxes < 0 ? GB_BRIDGE_R_ALL_AXES : 0) | (q->where ? GB_BRIDGE_R_MASK : 0) |
           nout << GB_BRIDGE_R_RESULTS | naxes << GB_BRIDGE_R_AXES;
    *w++ = q->by_name;
    for (int64_t i = 0; i < naxes; i++) *w++ = q->axes[i];
    w = encode_view(w, &q->view);
    if (q->where) w = encode_view(w, &q->mask);
    for (int i = 0; i < nout; i++) w = encode_view(w, &q->result[i]);
    return w - encoding;
}

static void free_reduction(void *r) { gb_gu_reduction_free(r); }

gb_py_entry *gb_py_planned_for(gb_py_reduce_args *q) {
    int64_t encoding[GB_PY_MOST_WORDS], n = encode(encoding, q);
    uint64_t hash;
    gb_py_reducers *all = reducers_of(q->gufunc);
    if (!all) return NULL;
    gb_py_entry *e = gb_py_entries_find(&all->entries, encoding, n, &hash);
    if (e) return e;
    gb_error error;
    gb_gu_reduction *r = NULL;
    if (GB_PY_ENTER_GO(&error,
                       gb_py_go->gufunc_reduce(q->gufunc->info.id, encoding, n, &r, &error)) < 0)
        return NULL;
    return gb_py_entries_keep(&all->entries, encoding, n, hash, r, free_reduction);
}
