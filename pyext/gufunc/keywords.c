/* keywords.c: keywords of a call, and uniform parameters as the C struct that kernels take. */
#include "gufunc.h"
#include "../core/attribute.h"
#include "../core/upcall.h"

/* In the order of gb_py_keywords. */
static const char *const known[] = {"out",     "where", "axes",      "axis",   "keepdims",
                                    "casting", "dtype", "signature", "errors", "workers"};
enum { KNOWN = sizeof known / sizeof *known };
_Static_assert(offsetof(gb_py_keywords, uniform) == KNOWN * sizeof(PyObject *),
               "each keyword has its slot");
static PyObject *interned[KNOWN];

int gb_py_keywords_init(PyObject *module) { return gb_py_intern_names(known, interned, KNOWN); }

static PyObject **slot_of(gb_py_gufunc_object *g, PyObject *name, gb_py_keywords *k) {
    int slot = gb_py_find_name(interned, KNOWN, name);
    if (slot >= 0) return (PyObject **)k + slot;
    for (int i = 0; i < g->info.nuniforms; i++)
        if (PyUnicode_Compare(PyTuple_GetItem(g->uniform_names, i), name) == 0)
            return &k->uniform[i];
    return NULL;
}

int gb_py_read_keywords(gb_py_invocation *v, PyObject *kwargs, gb_py_keywords *k) {
    gb_py_gufunc_object *g = v->gufunc;
    memset(k, 0,
           offsetof(gb_py_keywords, uniform) + (size_t)g->info.nuniforms * sizeof *k->uniform);
    PyObject *name, *value;
    Py_ssize_t at = 0;
    if (!kwargs) return 0;
    while (PyDict_Next(kwargs, &at, &name, &value)) {
        PyObject **slot = slot_of(g, name, k);
        if (!slot) {
            GB_PY_OWNED PyObject *refused =
                gb_py_upcall_on((PyObject *)g, GB_PY_OF_GUFUNC_REFUSE, "(O)", name);
            return -1;
        }
        *slot = v->held[v->nheld++] = Py_NewRef(value);
    }
    PyObject **optional[] = {&k->out, &k->axes, &k->axis, &k->dtype, &k->signature, &k->workers};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        if (*optional[i] == Py_None) *optional[i] = NULL;
    return 0;
}

static int one_of(PyObject *given, const char *argument, const char *const *names, int n,
                  const char *allowed) {
    for (int i = 0; PyUnicode_Check(given) && i < n; i++)
        if (PyUnicode_CompareWithASCIIString(given, names[i]) == 0) return i;
    return gb_py_fail(PyExc_ValueError, "%s: %R is none of %s", argument, given, allowed);
}

const char *const gb_py_errors_words[] = {"raise", "return", "warn", "ignore"};

int gb_py_read_errors(PyObject *errors) {
    return errors ? one_of(errors, "errors", gb_py_errors_words, 4,
                           "('raise', 'return', 'warn', 'ignore')")
                  : GB_PY_RAISE;
}

#define NAME(name, text) text,
static const char *const castings[] = {GB_GU_EACH_CASTING(NAME)};

int gb_py_read_casting(PyObject *casting) {
    return casting ? one_of(casting, "casting", castings, GB_GU_CASTINGS,
                            "('no', 'equiv', 'safe', 'same_kind', 'unsafe')")
                   : GB_GU_SAME_KIND;
}

int gb_py_read_workers(PyObject *workers, int *n) {
    int64_t value = 0;
    if (workers &&
        gb_py_int64(workers, "workers", "an int (at most so many threads) or None", &value) < 0)
        return -1;
    if (workers && value < 1)
        return gb_py_fail(PyExc_ValueError, "workers: expected 1 or more, got %R", workers);
    *n = value < 1 << 20 ? (int)value : 1 << 20;
    return 0;
}

/* ---- uniform parameters ---- */

/* 1: written, 0: not this simply. */
static int put_uniform(char *to, uint8_t type, PyObject *value) {
    int overflow;
    if (type == GB_BOOL) {
        *to = value == Py_True;
        return PyBool_Check(value);
    }
    if (type == GB_F64 || type == GB_F32)
        return PyFloat_CheckExact(value) && gb_py_put_float(to, type, PyFloat_AsDouble(value));
    if (!PyLong_CheckExact(value)) return 0;
    long long v = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow <= 0 || type != GB_U64) return !overflow && gb_py_put_int(to, type, v);
    unsigned long long w = PyLong_AsUnsignedLongLong(value);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    memcpy(to, &w, sizeof w);
    return 1;
}

/* Python converts any other value to a bool, an int or a float, or raises the error. */
static int put_other(const gb_py_invocation *v, int i, char *to, PyObject *value) {
    GB_PY_OWNED PyObject *exact =
        gb_py_upcall_on((PyObject *)v->gufunc, GB_PY_OF_GUFUNC_UNIFORM, "(iO)", i, value);
    int done = exact ? put_uniform(to, v->gufunc->info.uniform_types[i], exact) : -1;
    if (done == 0)
        PyErr_Format(PyExc_OverflowError, "%U: %R does not fit this uniform parameter's type",
                     PyTuple_GetItem(v->gufunc->uniform_names, i), value);
    return done > 0 ? 0 : -1;
}

int gb_py_read_uniforms(gb_py_invocation *v, const gb_py_keywords *k) {
    const gb_bridge_gufunc_info *info = &v->gufunc->info;
    size_t at = 0;
    for (int i = 0; i < info->nuniforms; i++) {
        if (k->uniform[i]) continue;
        return gb_py_fail(PyExc_TypeError, "%U: this uniform parameter needs a value",
                          PyTuple_GetItem(v->gufunc->uniform_names, i));
    }
    for (int i = 0; i < info->nuniforms; i++) {
        size_t size = (size_t)gb_type_size(info->uniform_types[i]);
        at = (at + size - 1) & ~(size - 1);
        if (!put_uniform(v->pack + at, info->uniform_types[i], k->uniform[i]) &&
            put_other(v, i, v->pack + at, k->uniform[i]) < 0)
            return -1;
        at += size;
    }
    if (info->nuniforms) v->uniforms = v->pack;
    return 0;
}

/* ---- axis=, axes= and keepdims=, encoded for gufunc/axes.go ---- */

/* Encode the number of axes and the axes; the number of words, or -1. */
static int read_entry(PyObject *obj, int64_t *to) {
    int n = 1;
    if (!PyIndex_Check(obj) || PySequence_Check(obj))
        n = gb_py_ints(obj, "axes", to + 1, GB_GU_MAXCORE);
    else if (gb_py_int64(obj, "axes", "an int or a tuple of ints for each operand", &to[1]) < 0)
        n = -1;
    to[0] = n;
    return n < 0 ? -1 : n + 1;
}

static int read_list(gb_py_invocation *v, PyObject *axes) {
    GB_PY_OWNED PyObject *list = PyAnySet_Check(axes) ? NULL : PySequence_Tuple(axes);
    if (!list) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Clear();
        return gb_py_fail(PyExc_TypeError,
                          "axes: expected a list with an entry for each operand, got %R", axes);
    }
    int n = (int)PyTuple_Size(list);
    if (n > v->nop) return gb_py_setup_error("axes: %d entries for %d operands", n, v->nop);
    v->axes[v->naxes++] = n;
    for (int i = 0; i < n; i++) {
        int words = read_entry(PyTuple_GetItem(list, i), &v->axes[v->naxes]);
        if (words < 0) return -1;
        v->naxes += words;
    }
    v->arrangement |= GB_BRIDGE_AXES;
    return 0;
}

static int read_axis(gb_py_invocation *v, PyObject *axis) {
    int32_t code;
    v->arrangement |= PyUnicode_Check(axis) ? GB_BRIDGE_AXIS_NAME : GB_BRIDGE_AXIS;
    v->naxes = 1;
    if (!PyUnicode_Check(axis)) return gb_py_int64(axis, "axis", "an int or a name", &v->axes[0]);
    if (gb_py_dims(axis, "axis", &code, 1) == 1) {
        v->axes[0] = code;
        return 0;
    }
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "axis: expected an int or one name");
    return -1;
}

int gb_py_read_axes(gb_py_invocation *v, const gb_py_keywords *k) {
    int keepdims = k->keepdims ? gb_py_bool(k->keepdims, "keepdims", "True or False") : 0;
    if (keepdims < 0) return -1;
    if (keepdims) v->arrangement = GB_BRIDGE_KEEPDIMS;
    if (k->axes && k->axis) return gb_py_setup_error("axes: it cannot be given together with axis");
    if (k->axes) return read_list(v, k->axes);
    return k->axis ? read_axis(v, k->axis) : 0;
}
