/* reduce_args.c: arguments of g.reduce. Objects whose conversion may run Python code are read
 * first; pointers into arrays are taken last. */
#include "gufunc.h"
#include "../core/attribute.h"
#include "../core/upcall.h"

enum {
    R_ARRAY,
    R_AXIS,
    R_DTYPE,
    R_OUT,
    R_KEEPDIMS,
    R_INITIAL,
    R_WHERE,
    R_ORDERED,
    R_ERRORS,
    R_WORKERS,
    R_COUNT
};
static const char *const names[R_COUNT] = {"array",   "axis",  "dtype",   "out",    "keepdims",
                                           "initial", "where", "ordered", "errors", "workers"};
static PyObject *interned[R_COUNT];

int gb_py_reduce_args_init(PyObject *module) {
    return gb_py_intern_names(names, interned, R_COUNT);
}

static int sort(PyObject **slots, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    memset(slots, 0, R_COUNT * sizeof *slots);
    if (nargs > 2)
        return gb_py_fail(PyExc_TypeError,
                          "reduce() takes at most 2 positional arguments (%zd given); the others "
                          "need their names",
                          nargs);
    for (Py_ssize_t i = 0; i < nargs; i++) slots[i] = args[i];
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_Size(kwnames); i++) {
        PyObject *name = PyTuple_GetItem(kwnames, i);
        int slot = gb_py_find_name(interned, R_COUNT, name);
        if (slot < 0 || slots[slot])
            return gb_py_fail(PyExc_TypeError,
                              slot < 0 ? "reduce() got an unexpected keyword argument %R"
                                       : "reduce() got multiple values for argument %R",
                              name);
        slots[slot] = args[nargs + i];
    }
    if (slots[R_ARRAY]) return 0;
    return gb_py_fail(PyExc_TypeError, "reduce() is missing the required argument 'array'");
}

/* ---- axes ---- */

static int add_axis(gb_py_reduce_args *q, PyObject *entry) {
    static const char expected[] = "an int, an index's name or a tuple of them";
    if (q->naxes == GB_MAXDIMS)
        return gb_py_fail(PyExc_ValueError, "axis: at most %d are allowed", GB_MAXDIMS);
    return gb_py_int64(entry, "axis", expected, &q->axes[q->naxes++]);
}

static int add_names(gb_py_reduce_args *q, PyObject *sequence) {
    int32_t dims[GB_MAXDIMS];
    int n = gb_py_dims(sequence, "axis", dims, GB_MAXDIMS - q->naxes);
    for (int i = 0; i < n; i++) {
        q->by_name |= (int64_t)1 << q->naxes;
        q->axes[q->naxes++] = dims[i];
    }
    return n < 0 ? -1 : 0;
}

static int read_axes(gb_py_reduce_args *q, PyObject *axis) {
    q->naxes = axis == Py_None ? -1 : 0;
    if (axis == Py_None) return 0;
    if (PyUnicode_Check(axis)) return add_names(q, axis);
    if (!PyTuple_Check(axis)) return add_axis(q, axis);
    for (Py_ssize_t i = 0; i < PyTuple_Size(axis); i++) {
        PyObject *entry = PyTuple_GetItem(axis, i);
        GB_PY_OWNED PyObject *one =
            PyUnicode_Check(entry) ? PyTuple_Pack(1, entry) : NULL; /* one name, even "12" */
        if (PyUnicode_Check(entry) && !one) return -1;
        if ((one ? add_names(q, one) : add_axis(q, entry)) < 0) return -1;
    }
    return 0;
}

/* ---- operands ---- */

static int usual(PyObject *obj) {
    return PyArray_CheckExact(obj) ||
           (gb_py_is_field(obj) && ((gb_py_field *)obj)->location.kind == GB_PY_HEAP);
}

static int writable(PyObject *obj) {
    return PyArray_Check(obj) ? PyArray_ISWRITEABLE((PyArrayObject *)obj)
                              : !((gb_py_field *)obj)->readonly;
}

/* Convert an object with memory to an ndarray or a Field: gridbuf.gufunc.operands.normal(object,
 * kind). New reference. */
static PyObject *operand(const char *kind, PyObject *obj) {
    if (usual(obj)) return Py_NewRef(obj);
    GB_PY_OWNED PyObject *found = gb_py_upcall_to(GB_PY_UP_GUFUNC_OPERAND, "(Os)", obj, kind);
    if (!found || usual(found)) return Py_XNewRef(found);
    return PyErr_Format(PyExc_TypeError, "%s: expected memory on the host, got %R", kind, obj);
}

static int read_outs(gb_py_reduce_args *q, PyObject *out) {
    int nout = q->gufunc->info.nout;
    if (out == Py_None) return 0;
    Py_ssize_t n = PyTuple_Check(out) ? PyTuple_Size(out) : 1;
    if (n != nout)
        return gb_py_fail(PyExc_ValueError, "out: %zd arrays given, the reduction has %d results",
                          n, nout);
    for (int i = 0; i < nout; i++) {
        PyObject *given = PyTuple_Check(out) ? PyTuple_GetItem(out, i) : out;
        if (given == Py_None) continue;
        q->given[i] = Py_NewRef(given);
        if (!(q->out[i] = operand("out", given))) return -1;
        if (!writable(q->out[i])) return gb_py_fail(PyExc_ValueError, "out: it is read-only");
    }
    return 0;
}

static int read_dtype(gb_py_reduce_args *q, PyObject *dtype) {
    int64_t none[1];
    int n;
    if (dtype == Py_None) return 0;
    GB_PY_OWNED gb_py_dtype *asked = gb_py_dtype_parse(dtype, none, 0, &n);
    if (!asked) return -1;
    q->dtype = gb_py_type_of_descr(asked->descr);
    if (!q->dtype || q->dtype >= GB_DATETIME)
        PyErr_Format(PyExc_TypeError, "dtype: no kernel has operands of type %S", asked->descr);
    return PyErr_Occurred() ? -1 : 0;
}

int gb_py_read_reduce_args(gb_py_reduce_args *q, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames) {
    PyObject *slots[R_COUNT];
    if (sort(slots, args, nargs, kwnames) < 0) return -1;
    if (slots[R_AXIS]) {
        if (read_axes(q, slots[R_AXIS]) < 0) return -1;
    } else {
        q->naxes = 1;
        q->axes[0] = 0;
    }
    if (slots[R_DTYPE] && read_dtype(q, slots[R_DTYPE]) < 0) return -1;
    if (slots[R_KEEPDIMS] &&
        (q->keepdims = gb_py_bool(slots[R_KEEPDIMS], "keepdims", "True or False")) < 0)
        return -1;
    if (slots[R_ORDERED] &&
        (q->ordered = gb_py_bool(slots[R_ORDERED], "ordered", "True or False")) < 0)
        return -1;
    PyObject *workers = slots[R_WORKERS] == Py_None ? NULL : slots[R_WORKERS];
    if ((q->errors = gb_py_read_errors(slots[R_ERRORS])) < 0 ||
        gb_py_read_workers(workers, &q->workers) < 0)
        return -1;
    q->initial = Py_XNewRef(slots[R_INITIAL]);
    if (!(q->array = operand("array", slots[R_ARRAY]))) return -1;
    if (slots[R_WHERE] && slots[R_WHERE] != Py_True &&
        !(q->where = operand("where", slots[R_WHERE])))
        return -1;
    return slots[R_OUT] ? read_outs(q, slots[R_OUT]) : 0;
}

void gb_py_reduce_args_clear(gb_py_reduce_args *q) {
    Py_CLEAR(q->array);
    Py_CLEAR(q->where);
    Py_CLEAR(q->initial);
    for (int i = 0; i < q->gufunc->info.nout; i++) {
        Py_CLEAR(q->out[i]);
        Py_CLEAR(q->given[i]);
    }
}

/* ---- views ---- */

static int read_view(gb_py_arg *v, PyObject *obj, const char *what) {
    if (!gb_py_arg_look(v, obj) || v->ndim > GB_MAXDIMS)
        return gb_py_fail(PyExc_ValueError, "%s: at most %d dimensions are allowed", what,
                          GB_MAXDIMS);
    return 0;
}

/* No Python code runs from here on. */
int gb_py_read_views(gb_py_reduce_args *q) {
    if (read_view(&q->view, q->array, "array") < 0 ||
        (q->where && read_view(&q->mask, q->where, "where") < 0))
        return -1;
    if (q->where && q->mask.type != GB_BOOL)
        return gb_py_fail(PyExc_TypeError, "where: expected bools");
    for (int i = 0; i < q->gufunc->info.nout; i++) {
        gb_py_arg *o = &q->result[i];
        if (!q->out[i]) {
            o->type = o->swapped = o->misaligned = 0;
            o->absent = 1;
            o->ndim = 0;
            o->field = NULL;
        } else if (read_view(o, q->out[i], "out") < 0) return -1;
        else if (!o->type || o->type >= GB_DATETIME)
            return gb_py_fail(PyExc_TypeError, "out: no kernel gives elements of its type");
    }
    const gb_py_folding *c = &q->choice;
    if (q->view.type != c->array || (!c->state && q->out[0] && q->result[0].type != c->out))
        return gb_py_fail(PyExc_RuntimeError,
                          "array: its dtype changed while the arguments were read");
    return 0;
}

/* ---- choices and plans, by which a known reduction needs neither Go nor Python code ---- */

#define CHOICES 256

struct gb_py_reducers {
    unsigned made; /* number of choices made; the oldest is dropped */
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
        c->kernel = kernel;
        c->state = (uint8_t)state;
        c->sequential = (uint8_t)sequential;
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
        if (memcmp(&all->choices[i], c, offsetof(gb_py_folding, state)) == 0) {
            *c = all->choices[i];
            return 0;
        }
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
    int64_t flags = nout << GB_BRIDGE_R_RESULTS | naxes << GB_BRIDGE_R_AXES;
    if (q->keepdims) flags |= GB_BRIDGE_R_KEEPDIMS;
    if (c->sequential) flags |= GB_BRIDGE_R_SEQUENTIAL;
    if (q->ordered) flags |= GB_BRIDGE_R_ONE_BY_ONE;
    if (c->has_identity) flags |= GB_BRIDGE_R_IDENTITY;
    if (c->sequential && !q->ordered && !c->state) flags |= GB_BRIDGE_R_ONE_AXIS;
    if (q->naxes < 0) flags |= GB_BRIDGE_R_ALL_AXES;
    if (q->where) flags |= GB_BRIDGE_R_MASK;
    *w++ = c->kernel | (int64_t)c->state << GB_BRIDGE_R_STATE;
    *w++ = flags;
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
