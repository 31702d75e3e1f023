/* callcache.c: calls seen before, known by the objects they were made with.
 *
 * A program that allocates in a loop passes the same shape, dtype and names every time.
 * When all arguments are immutable and the same objects as last time, they mean the same
 * request, and nothing has to be read. A tuple may be new where its numbers are the same,
 * as in empty((nx, ny, nz)), and so is always the tuple of keyword names of f(**spec).
 * Entries hold references, so that an address cannot come back for something else.
 */
#include "plan.h"
#include "args.h"

#define CALLS 256
#define INLINED     \
    __attribute__(( \
        always_inline)) inline /* every call goes through it, and no call is spent on it */

typedef struct {
    const gb_py_signature *sig;
    PyObject *kwnames;
    Py_ssize_t nargs, n;
    gb_py_plan_object *plan;
    PyObject *standing; /* the backend that stood; NULL: C, or the call does not ask */
    gb_py_meta *meta;   /* NULL: nothing was asked for besides memory */
    PyObject *args[GB_PY_ARG_COUNT], *names[GB_PY_ARG_COUNT]; /* names: borrowed from kwnames */
} call;
static int forgotten;

static void drop(call *old) {
    free(old->meta);
    Py_XDECREF(old->kwnames);
    Py_XDECREF((PyObject *)old->plan);
    Py_XDECREF(old->standing);
    for (Py_ssize_t i = 0; i < old->n; i++) Py_XDECREF(old->args[i]);
}

static call calls[CALLS];

static int is_number(PyObject *entry, int64_t *value) {
    int overflow = 1;
    if (PyLong_CheckExact(entry)) *value = PyLong_AsLongLongAndOverflow(entry, &overflow);
    return !overflow;
}

/* Numbers are the same by their value, anything else by its address. */
static int same_entry(PyObject *a, PyObject *b) {
    int64_t v, w;
    return a == b || (is_number(a, &v) && is_number(b, &w) && v == w);
}

static int same_entries(PyObject *a, PyObject *b) {
    Py_ssize_t n = PyTuple_Size(a);
    if (n != PyTuple_Size(b)) return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!same_entry(PyTuple_GetItem(a, i), PyTuple_GetItem(b, i))) return 0;
    return 1;
}

/* A tuple that only this call holds was made for it: its address says nothing. */
static int is_new(PyObject *arg) { return PyTuple_CheckExact(arg) && Py_REFCNT(arg) == 1; }

#define MIX(h, w) (((h) ^ (uint64_t)(w)) * 0x9E3779B97F4A7C15u)

/* Where a call is kept: by its objects, or, where some are new, with what these say instead. */
static call *slot_of(const gb_py_signature *sig, PyObject *const *args, Py_ssize_t n) {
    uint64_t h = (uintptr_t)sig;
    for (Py_ssize_t i = 0; i < n; i++) h = MIX(h, (uintptr_t)args[i]);
    return &calls[h >> 56];
}

static call *slot_of_new(const gb_py_signature *sig, PyObject *const *args, Py_ssize_t n) {
    uint64_t h = (uintptr_t)sig;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t m = is_new(args[i]) ? PyTuple_Size(args[i]) : -1;
        if (m < 0) h = MIX(h, (uintptr_t)args[i]);
        for (Py_ssize_t k = 0; k < m; k++) {
            PyObject *entry = PyTuple_GetItem(args[i], k);
            int64_t value;
            h = MIX(h, is_number(entry, &value) ? (uintptr_t)value + 1 : (uintptr_t)entry);
        }
        h ^= h >> 29;
    }
    return &calls[h >> 56];
}

static int same(const call *c, const gb_py_signature *sig, PyObject *const *args, Py_ssize_t nargs,
                Py_ssize_t n, PyObject *kwnames, PyObject *standing) {
    if (c->sig != sig || c->nargs != nargs || c->n != n || c->standing != standing) return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (c->args[i] != args[i] && !(is_new(args[i]) && PyTuple_CheckExact(c->args[i]) &&
                                       same_entries(c->args[i], args[i])))
            return 0;
    if (c->kwnames != kwnames)
        for (Py_ssize_t i = 0; i < n - nargs; i++)
            if (c->names[i] != PyTuple_GetItem(kwnames, i)) return 0;
    return 1;
}

/* A type may be asked for its meaning by NumPy each time (a class with a dtype), unless nobody can
 * change it; and the names of a structured dtype can be changed. */
static int constant(PyObject *obj, int depth) {
    if (obj == Py_None || PyLong_CheckExact(obj) || PyBool_Check(obj) || PyUnicode_CheckExact(obj))
        return 1;
    if (PyType_Check(obj) || PyArray_DescrCheck(obj)) return gb_py_dtype_constant(obj);
    if (!PyTuple_CheckExact(obj) || depth > 2) return 0;
    Py_ssize_t n = PyTuple_Size(obj);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!constant(PyTuple_GetItem(obj, i), depth + 1)) return 0;
    return 1;
}

int gb_py_is_constant(PyObject *obj) { return constant(obj, 0); }

/* What is dropped may run Python code that allocates: the new entry is in its place before. */
static void exchange(call *c, const call *new) {
    call old = *c;
    *c = *new;
    drop(&old);
}

void gb_py_forget_calls(void) {
    static const call empty;
    forgotten++;
    for (int i = 0; i < CALLS; i++) exchange(&calls[i], &empty);
}

/* A loop over shapes passes the other objects again, and what was constant stays so. */
static const call *last;
static int was_constant(PyObject *arg, Py_ssize_t i) {
    return last && i < last->n && last->args[i] == arg;
}

static void remember(call *c, const gb_py_signature *sig, PyObject *const *args, Py_ssize_t nargs,
                     Py_ssize_t n, PyObject *kwnames, PyObject *standing, gb_py_plan_object *plan,
                     const gb_py_meta *meta) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (!was_constant(args[i], i) && !constant(args[i], 0)) return;
    call new = {.sig = sig, .kwnames = kwnames, .nargs = nargs, .n = n};
    if (!gb_py_meta_is_clear(meta)) {
        if (!(new.meta = malloc(sizeof *new.meta))) return;
        *new.meta = *meta;
    }
    Py_XINCREF(kwnames);
    new.standing = Py_XNewRef(standing);
    new.plan = (gb_py_plan_object *)Py_NewRef((PyObject *)plan);
    for (Py_ssize_t i = 0; i < n; i++) new.args[i] = Py_NewRef(args[i]);
    for (Py_ssize_t i = 0; i < n - nargs; i++) new.names[i] = PyTuple_GetItem(kwnames, i);
    exchange(c, &new);
    last = c;
}

static INLINED gb_py_plan_object *known(const call *c, gb_py_meta *meta) {
    if (c->meta)
        *meta = *c->meta; /* a copy: what follows may run Python code and change the cache */
    else gb_py_meta_clear(meta);
    return (gb_py_plan_object *)Py_NewRef((PyObject *)c->plan);
}

/* The arguments are read. Not remembered: a value to fill with, whose meaning is nobody's but the
 * call's, and a layout that a Python function chose. */
static gb_py_plan_object *read_call(call *c, const gb_py_signature *sig, PyObject *const *args,
                                    Py_ssize_t nargs, Py_ssize_t n, PyObject *kwnames,
                                    PyObject *standing, gb_py_meta *meta) {
    PyObject *slots[GB_PY_ARG_COUNT];
    int function_layout,
        before = forgotten; /* reading may run Python code that gives a name another meaning */
    if (gb_py_args(sig, args, nargs, kwnames, slots) < 0) return NULL;
    Py_XINCREF(standing); /* reading may run Python code that sets another */
    if (standing && !slots[GB_PY_ARG_BACKEND] &&
        (!slots[GB_PY_ARG_LAYOUT] || slots[GB_PY_ARG_LAYOUT] == Py_None))
        slots[GB_PY_ARG_BACKEND] = standing;
    gb_py_plan_object *plan = gb_py_plan_from_slots(slots, meta, &function_layout);
    if (plan && !meta->fill_value && !function_layout && forgotten == before)
        remember(c, sig, args, nargs, n, kwnames, standing, plan, meta);
    Py_XDECREF(standing);
    return plan;
}

/* 1: the call is known. *at: where it is, or would be. */
static INLINED int find(call **at, const gb_py_signature *sig, PyObject *const *args,
                        Py_ssize_t nargs, Py_ssize_t n, PyObject *kwnames, PyObject *standing) {
    Py_ssize_t i = 0;
    *at = slot_of(sig, args, n);
    if (__builtin_expect(same(*at, sig, args, nargs, n, kwnames, standing), 1)) return 1;
    while (i < n && !is_new(args[i])) i++;
    if (i == n) return 0;
    *at = slot_of_new(sig, args, n);
    return same(*at, sig, args, nargs, n, kwnames, standing);
}

static INLINED gb_py_plan_object *plan_under(PyObject *standing, const gb_py_signature *sig,
                                             PyObject *const *args, Py_ssize_t nargs,
                                             PyObject *kwnames, gb_py_meta *meta) {
    Py_ssize_t n = nargs + (kwnames ? PyTuple_Size(kwnames) : 0);
    call *c;
    if (find(&c, sig, args, nargs, n, kwnames, standing)) return known(c, meta);
    return read_call(c, sig, args, nargs, n, kwnames, standing, meta);
}

/* Some context has a backend of its own, and this may be that one. */
static gb_py_plan_object *plan_in_context(const gb_py_signature *sig, PyObject *const *args,
                                          Py_ssize_t nargs, PyObject *kwnames, gb_py_meta *meta) {
    PyObject *name = PyObject_CallNoArgs(gb_py_default.ask);
    if (!name) return NULL;
    if (name == Py_None) {
        Py_DECREF(name);
        name = Py_XNewRef(gb_py_default.name);
    }
    gb_py_plan_object *plan = plan_under(name, sig, args, nargs, kwnames, meta);
    Py_XDECREF(name);
    return plan;
}

gb_py_plan_object *gb_py_plan_for_call(const gb_py_signature *sig, PyObject *const *args,
                                       Py_ssize_t nargs, PyObject *kwnames, gb_py_meta *meta) {
    if (__builtin_expect(gb_py_default.ask != NULL, 0) && sig->takes_default)
        return plan_in_context(sig, args, nargs, kwnames, meta);
    return plan_under(sig->takes_default ? gb_py_default.name : NULL, sig, args, nargs, kwnames,
                      meta);
}
