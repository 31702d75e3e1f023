/* cache.c: the resolved call for what was read: one seen before, or a new one from Go. */
#include "gufunc.h"
#include "../core/upcall.h"

static int64_t encode(int64_t *encoding, const gb_py_invocation *v) {
    int64_t *w = encoding;
    *w++ = v->kernel;
    *w++ = v->nop | v->has_where * GB_BRIDGE_MASK | v->arrangement;
    for (int i = 0; i < v->nop + v->has_where; i++) {
        const gb_py_arg *a = &v->arg[i];
        w = gb_py_encode_operand(w, GB_PY_HEAD(a->type, a->swapped, a->misaligned, a->absent),
                                 a->ndim, a->shape, a->strides,
                                 !a->absent && a->ndims >= 0 ? a->dims : NULL);
    }
    memcpy(w, v->axes, (size_t)v->naxes * sizeof *w);
    return w + v->naxes - encoding;
}

/* Core sizes that neither operands nor the signature tell: Python asks output_dims or NumPy.
 * They follow from the shapes, which are part of the encoding, so they are asked for once. */
static int64_t add_sizes(gb_py_invocation *v, int64_t *encoding, int64_t n) {
    int64_t turned[GB_PY_MOST_WORDS], *w = turned + 2;
    gb_error error;
    memcpy(turned, encoding, (size_t)n * sizeof *turned);
    if (v->arrangement && GB_PY_ENTER_GO(&error, gb_py_go->gufunc_turn_shapes(
                                                     v->gufunc->info.id, turned, n, &error)) < 0)
        return -1;
    GB_PY_OWNED PyObject *shapes = PyTuple_New(v->nop), *sizes = NULL;
    for (int i = 0; shapes && i < v->nop;
         w += 1 + (w[0] & GB_BRIDGE_O_NAMED ? 3 : 2) * v->arg[i++].ndim)
        gb_py_put(&shapes, i,
                  v->arg[i].absent ? Py_NewRef(Py_None) : gb_py_ints_tuple(w + 1, v->arg[i].ndim));
    if (shapes)
        sizes = gb_py_upcall_on((PyObject *)v->gufunc, GB_PY_OF_GUFUNC_SIZES, "(Oi)", shapes,
                                v->kernel);
    int known = sizes ? gb_py_ints(sizes, "output_dims", encoding + n, GB_GU_MAXCORE) : -1;
    if (known > 0) encoding[1] |= GB_BRIDGE_SIZES;
    return known < 0 ? -1 : n + known;
}

static gb_py_entry *refuse_fork(gb_py_invocation *v) {
    GB_PY_OWNED PyObject *name = gb_py_upcall_of((PyObject *)v->gufunc, GB_PY_OF_GUFUNC_NAME);
    if (name)
        PyErr_Format(PyExc_RuntimeError,
                     "%S: a call with these types, and with these core sizes and axes where it has "
                     "any, was not made before the fork, and "
                     "a new one needs the Go runtime, which a forked child does not have; make it "
                     "once in the parent, or start "
                     "processes with multiprocessing's 'spawn' or 'forkserver'",
                     name);
    return NULL;
}

static void free_call(void *call) { gb_gu_call_free(call); }

/* In a forked child: a call of the same kernel with other sizes. 1 made, 0: none is known, or it
 * has core dimensions or axes; -1. */
static int like_one_before(const gb_py_invocation *v, gb_gu_call **call, gb_error *e) {
    const gb_gu_call *known =
        v->arrangement ? NULL : gb_py_entries_of_kernel(v->gufunc->entries, v->kernel);
    gb_gu_view view[GB_GU_MAXARGS + 1];
    if (!known || known->ncore) return 0;
    for (int i = 0; i < v->nop + v->has_where; i++) {
        const gb_py_arg *a = &v->arg[i];
        view[i] = (gb_gu_view){a->type,
                               a->swapped,
                               a->misaligned,
                               a->absent,
                               a->absent ? 0 : a->ndim,
                               a->shape,
                               a->strides,
                               a->ndims >= 0 ? a->dims : NULL};
    }
    *call = gb_gu_call_like(known, view, v->has_where, v->named, e);
    return *call ? 1 : -1;
}

gb_py_entry *gb_py_entry_for(gb_py_invocation *v) {
    int64_t encoding[GB_PY_MOST_WORDS];
    uint64_t hash;
    int64_t n = encode(encoding, v), asked = n, flags = encoding[1];
    gb_py_entry *e = gb_py_entries_find(v->gufunc->entries, encoding, n, &hash);
    if (e) return e;
    gb_error error;
    gb_gu_call *call = NULL;
    if (gb_py_go_lost()) {
        int known = like_one_before(v, &call, &error);
        if (known == 0) return refuse_fork(v);
        if (known > 0)
            return gb_py_entries_keep(v->gufunc->entries, encoding, n, hash, call, free_call);
        gb_py_raise(&error);
        return NULL;
    }
    if (v->gufunc->asks_sizes && (asked = add_sizes(v, encoding, n)) < 0) return NULL;
    if (GB_PY_ENTER_GO(&error, gb_py_go->gufunc_resolve(v->gufunc->info.id, encoding, asked, &call,
                                                        &error)) < 0)
        return NULL;
    encoding[1] = flags;
    return gb_py_entries_keep(v->gufunc->entries, encoding, n, hash, call, free_call);
}
