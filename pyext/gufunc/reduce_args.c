/* reduce_args.c: the arguments of g.reduce. What may run Python code is read first;
 * pointers into arrays are taken last. */
#include "reducing.h"
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

int gb_py_reduce_args_init(PyObject *module) { return gb_py_words_init(names, interned, R_COUNT); }

static int sort(PyObject **slots, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    memset(slots, 0, R_COUNT * sizeof *slots);
    if (nargs > 2)
        return PyErr_Format(PyExc_TypeError,
                            "reduce() takes at most 2 positional arguments (%zd given); the others "
                            "need their names",
                            nargs),
               -1;
    for (Py_ssize_t i = 0; i < nargs; i++) slots[i] = args[i];
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_Size(kwnames); i++) {
        PyObject *name = PyTuple_GetItem(kwnames, i);
        int slot = gb_py_word_find(interned, R_COUNT, name);
        if (slot < 0 || slots[slot])
            return PyErr_Format(PyExc_TypeError,
                                slot < 0 ? "reduce() got an unexpected keyword argument %R"
                                         : "reduce() got multiple values for argument %R",
                                name),
                   -1;
        slots[slot] = args[nargs + i];
    }
    if (slots[R_ARRAY]) return 0;
    return PyErr_SetString(PyExc_TypeError, "reduce() is missing the required argument 'array'"),
           -1;
}

/* ---- axes ---- */

static int add_axis(gb_py_reduce_args *q, PyObject *entry) {
    static const char expected[] = "an int, an index's name or a tuple of them";
    if (q->naxes == GB_MAXDIMS)
        return PyErr_Format(PyExc_ValueError, "axis: at most %d are allowed", GB_MAXDIMS), -1;
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
            PyUnicode_Check(entry) ? PyTuple_Pack(1, entry) : NULL; /* one name, also "12" */
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

/* Whatever has memory, as an ndarray or a Field: gridbuf.gufunc.operands.normal(object, kind). New
 * reference. */
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
        return PyErr_Format(PyExc_ValueError, "out: %zd arrays given, the reduction has %d results",
                            n, nout),
               -1;
    for (int i = 0; i < nout; i++) {
        PyObject *given = PyTuple_Check(out) ? PyTuple_GetItem(out, i) : out;
        if (given == Py_None) continue;
        q->given[i] = Py_NewRef(given);
        if (!(q->out[i] = operand("out", given))) return -1;
        if (!writable(q->out[i]))
            return PyErr_SetString(PyExc_ValueError, "out: it is read-only"), -1;
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
        return PyErr_Format(PyExc_ValueError, "%s: at most %d dimensions are allowed", what,
                            GB_MAXDIMS),
               -1;
    return 0;
}

/* No Python code runs from here on. */
int gb_py_read_views(gb_py_reduce_args *q) {
    if (read_view(&q->view, q->array, "array") < 0 ||
        (q->where && read_view(&q->mask, q->where, "where") < 0))
        return -1;
    if (q->where && q->mask.type != GB_BOOL)
        return PyErr_SetString(PyExc_TypeError, "where: expected bools"), -1;
    for (int i = 0; i < q->gufunc->info.nout; i++) {
        gb_py_arg *o = &q->result[i];
        if (!q->out[i])
            o->type = o->swapped = o->misaligned = 0, o->absent = 1, o->ndim = 0, o->field = NULL;
        else if (read_view(o, q->out[i], "out") < 0) return -1;
        else if (!o->type || o->type >= GB_DATETIME)
            return PyErr_Format(PyExc_TypeError, "out: no kernel gives elements of its type"), -1;
    }
    const gb_py_folding *c = &q->choice;
    if (q->view.type != c->array || (!c->state && q->out[0] && q->result[0].type != c->out))
        return PyErr_SetString(PyExc_RuntimeError,
                               "array: its dtype changed while the arguments were read"),
               -1;
    return 0;
}
