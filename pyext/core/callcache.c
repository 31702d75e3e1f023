/* callcache.c: calls seen before, known by the objects they were made with.
 *
 * A program that allocates in a loop passes the same shape, dtype and names every time. When all
 * arguments are immutable and the same objects as last time, they mean the same request, and
 * nothing has to be read. A tuple may be new where its numbers are the same, as in empty((nx, ny,
 * nz)), and so is always the tuple of keyword names of f(**spec). Entries hold references, so that
 * no other object can get the address of one. */
#include "plan.h"
#include "args.h"

#define CALLS 256
#define INLINED __attribute__((always_inline)) inline /* keep the hot path in one function */

typedef struct {
    const gb_py_signature *sig;
    PyObject *kwnames;
    Py_ssize_t nargs, n;
    gb_py_plan_object *plan;
    PyObject *backend; /* default backend at the time; NULL: C, or the call does not use it */
    gb_py_meta *meta;  /* NULL: the call gave nothing besides memory */
    PyObject *args[GB_PY_ARG_COUNT], *names[GB_PY_ARG_COUNT]; /* names: borrowed from kwnames */
} call;
static int forgotten;

static void drop(call *old) {
    free(old->meta);
    Py_XDECREF(old->kwnames);
    Py_XDECREF((PyObject *)old->plan);
    Py_XDECREF(old->backend);
    for (Py_ssize_t i = 0; i < old->n; i++) Py_XDECREF(old->args[i]);
}

static call calls[CALLS];

static int is_number(PyObject *entry, int64_t *value) {
    int overflow = 1;
    if (PyLong_CheckExact(entry)) *value = PyLong_AsLongLongAndOverflow(entry, &overflow);
    return !overflow;
}

/* Compare numbers by value, other objects by address. */
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

/* Refcount 1: the tuple was built for this call. Compare by value. */
static int built_for_call(PyObject *arg) { return PyTuple_CheckExact(arg) && Py_REFCNT(arg) == 1; }

#define MIX(h, w) (((h) ^ (uint64_t)(w)) * 0x9E3779B97F4A7C15u)

/* Slot of a call: hashed by the addresses of its objects, or, in slot_of_new, by the entries of
 * tuples that were built for the call. */
static call *slot_of(const gb_py_signature *sig, PyObject *const *args, Py_ssize_t n) {
    uint64_t h = (uintptr_t)sig;
    for (Py_ssize_t i = 0; i < n; i++) h = MIX(h, (uintptr_t)args[i]);
    return &calls[h >> 56];
}

static call *slot_of_new(const gb_py_signature *sig, PyObject *const *args, Py_ssize_t n) {
    uint64_t h = (uintptr_t)sig;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t m = built_for_call(args[i]) ? PyTuple_Size(args[i]) : -1;
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
                Py_ssize_t n, PyObject *kwnames, PyObject *backend) {
    if (c->sig != sig || c->nargs != nargs || c->n != n || c->backend != backend) return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        if (c->args[i] != args[i] && !(built_for_call(args[i]) && PyTuple_CheckExact(c->args[i]) &&
                                       same_entries(c->args[i], args[i])))
            return 0;
    if (c->kwnames != kwnames)
        for (Py_ssize_t i = 0; i < n - nargs; i++)
            if (c->names[i] != PyTuple_GetItem(kwnames, i)) return 0;
    return 1;
}

/* NumPy converts a mutable type anew each time (a class with a dtype), and the field names of a
 * structured dtype can be set: neither is constant. */
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

/* Dropping the old entry may run Python code that allocates: put the new entry in place first. */
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

static void remember(call *c, const gb_py_signature *sig, PyObject *const *args, Py_ssize_t nargs,
                     Py_ssize_t n, PyObject *kwnames, PyObject *backend, gb_py_plan_object *plan,
                     const gb_py_meta *meta) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (!constant(args[i], 0)) return;
    call new = {.sig = sig, .kwnames = kwnames, .nargs = nargs, .n = n};
    if (!gb_py_meta_is_clear(meta)) {
        if (!(new.meta = malloc(sizeof *new.meta))) return;
        *new.meta = *meta;
    }
    Py_XINCREF(kwnames);
    new.backend = Py_XNewRef(backend);
    new.plan = (gb_py_plan_object *)Py_NewRef((PyObject *)plan);
    for (Py_ssize_t i = 0; i < n; i++) new.args[i] = Py_NewRef(args[i]);
    for (Py_ssize_t i = 0; i < n - nargs; i++) new.names[i] = PyTuple_GetItem(kwnames, i);
    exchange(c, &new);
}

static INLINED gb_py_plan_object *known(const call *c, gb_py_meta *meta) {
    if (c->meta) *meta = *c->meta; /* a copy: later Python code may change the cache */
    else gb_py_meta_clear(meta);
    return (gb_py_plan_object *)Py_NewRef((PyObject *)c->plan);
}

/* Read the arguments. Not remembered are calls with a value to fill with, which is not part of the
 * plan, and those whose layout a Python function chose. */
static gb_py_plan_object *read_call(call *c, const gb_py_signature *sig, PyObject *const *args,
                                    Py_ssize_t nargs, Py_ssize_t n, PyObject *kwnames,
                                    PyObject *backend, gb_py_meta *meta) {
    PyObject *slots[GB_PY_ARG_COUNT];
    int function_layout,
        before = forgotten; /* reading may run Python code that registers a backend */
    if (gb_py_args(sig, args, nargs, kwnames, slots) < 0) return NULL;
    Py_XINCREF(backend); /* reading may run Python code that sets another default */
    if (backend && !slots[GB_PY_ARG_BACKEND] &&
        (!slots[GB_PY_ARG_LAYOUT] || slots[GB_PY_ARG_LAYOUT] == Py_None))
        slots[GB_PY_ARG_BACKEND] = backend;
    gb_py_plan_object *plan = gb_py_plan_from_slots(slots, meta, &function_layout);
    if (plan && !meta->fill_value && !function_layout && forgotten == before)
        remember(c, sig, args, nargs, n, kwnames, backend, plan, meta);
    Py_XDECREF(backend);
    return plan;
}

/* 1: the call is known. *at: its slot, or the one for it. */
static INLINED int find(call **at, const gb_py_signature *sig, PyObject *const *args,
                        Py_ssize_t nargs, Py_ssize_t n, PyObject *kwnames, PyObject *backend) {
    Py_ssize_t i = 0;
    *at = slot_of(sig, args, n);
    if (__builtin_expect(same(*at, sig, args, nargs, n, kwnames, backend), 1)) return 1;
    while (i < n && !built_for_call(args[i])) i++;
    if (i == n) return 0;
    *at = slot_of_new(sig, args, n);
    return same(*at, sig, args, nargs, n, kwnames, backend);
}

static INLINED gb_py_plan_object *plan_with_default(PyObject *backend, const gb_py_signature *sig,
                                                    PyObject *const *args, Py_ssize_t nargs,
                                                    PyObject *kwnames, gb_py_meta *meta) {
    Py_ssize_t n = nargs + (kwnames ? PyTuple_Size(kwnames) : 0);
    call *c;
    if (find(&c, sig, args, nargs, n, kwnames, backend)) return known(c, meta);
    return read_call(c, sig, args, nargs, n, kwnames, backend, meta);
}

/* Slow path: a contextvars.Context may have its own default backend. */
static gb_py_plan_object *plan_in_context(const gb_py_signature *sig, PyObject *const *args,
                                          Py_ssize_t nargs, PyObject *kwnames, gb_py_meta *meta) {
    PyObject *name = PyObject_CallNoArgs(gb_py_default.ask);
    if (!name) return NULL;
    if (name == Py_None) {
        Py_DECREF(name);
        name = Py_XNewRef(gb_py_default.name);
    }
    gb_py_plan_object *plan = plan_with_default(name, sig, args, nargs, kwnames, meta);
    Py_XDECREF(name);
    return plan;
}

gb_py_plan_object *gb_py_plan_for_call(const gb_py_signature *sig, PyObject *const *args,
                                       Py_ssize_t nargs, PyObject *kwnames, gb_py_meta *meta) {
    if (__builtin_expect(gb_py_default.ask != NULL, 0) && sig->takes_default)
        return plan_in_context(sig, args, nargs, kwnames, meta);
    return plan_with_default(sig->takes_default ? gb_py_default.name : NULL, sig, args, nargs,
                             kwnames, meta);
}
