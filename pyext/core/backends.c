/* backends.c: backend names, and presets whose layout is a Python function. */
#include "args.h"

/* Names seen lately, by the address of the str; an entry holds a reference. Exact str only: a
 * subclass's destructor could come back here while an entry is being replaced. */
#define MEMO 16
static struct {
    PyObject *name;
    int32_t number, order;
} memo[MEMO];
static PyObject *functions; /* preset number -> function(dims) -> layout */

static int slot(PyObject *name) {
    return (int)(((uintptr_t)name >> 4) * 0x9E3779B97F4A7C15u >> 60);
}

static void forget_all(void) {
    for (int i = 0; i < MEMO; i++) Py_CLEAR(memo[i].name);
}

static int unknown(PyObject *name, const char *text, Py_ssize_t length) {
    char quoted[300], *known = gb_preset_names(", ", 500);
    if (!known) return PyErr_NoMemory(), -1;
    PyObject *message = strlen(text) == (size_t)length
                            ? PyUnicode_FromFormat("backend: %s is not known; known are %s",
                                                   gb_quoted(quoted, sizeof quoted, text), known)
                            : PyUnicode_FromFormat("backend: %R is not known; known are %s", name,
                                                   known); /* with a null character */
    free(known);
    gb_py_error_with_suggestion(gb_py_BackendError, name, gb_py_backends(NULL, NULL), message);
    return -1;
}

static int look_up(PyObject *name, int32_t *number, int32_t *order) {
    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "backend: expected a name (str), got %R", name), -1;
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (!text) return -1;
    const gb_preset *preset = strlen(text) == (size_t)length ? gb_preset_named(text) : NULL;
    if (!preset) return unknown(name, text, length);
    *number = preset->number;
    *order = preset->order;
    if (!PyUnicode_CheckExact(name)) return 0;
    int i = slot(name);
    GB_PY_OWNED PyObject *before = memo[i].name;
    memo[i].name = Py_NewRef(name);
    memo[i].number = *number;
    memo[i].order = *order;
    return 0;
}

/* Ask the preset's function which layout it wants for these dims. */
static int call_function(gb_request *r) {
    int32_t dims[GB_MAXDIMS];
    int n = r->ndim - r->sub_ndim;
    for (int i = 0; i < n; i++) dims[i] = gb_request_dim(r, i);
    GB_PY_OWNED PyObject *number = PyLong_FromLong(r->backend), *names = gb_py_dims_tuple(dims, n),
                         *layout = NULL;
    GB_PY_OWNED PyObject *function =
        number && functions ? Py_XNewRef(PyDict_GetItemWithError(functions, number)) : NULL;
    if (function && names) layout = PyObject_CallFunctionObjArgs(function, names, NULL);
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError,
                        "backend: its layout is a function, and registering it failed");
    int64_t ranks[GB_MAXDIMS];
    r->layout_len = layout ? gb_py_ints(layout, "layout", ranks, GB_MAXDIMS) : -1;
    for (int i = 0; i < r->layout_len; i++)
        r->layout[i] = ranks[i] < 0 || ranks[i] >= GB_MAXDIMS ? -1 : (int32_t)ranks[i];
    return r->layout_len < 0 ? -1 : 0;
}

int gb_py_read_backend(PyObject *obj, gb_request *r) {
    int32_t order = 0;
    if (!obj) {
        r->backend = 0; /* "C", the first preset */
        return 0;
    }
    int i = slot(obj);
    if (__builtin_expect(memo[i].name == obj, 1)) {
        r->backend = memo[i].number;
        order = memo[i].order;
    } else if (look_up(obj, &r->backend, &order) < 0) {
        return -1;
    }
    return order == GB_BY_CALLER && r->layout_len < 0 ? call_function(r) : 0;
}

gb_py_standing_backend gb_py_standing;
int gb_py_registered_so_far;

/* (name or None, function or None): what gridbuf.defaults has checked. */
PyObject *gb_py_set_standing_backend(PyObject *self, PyObject *args) {
    PyObject *name, *ask;
    if (!PyArg_ParseTuple(args, "OO", &name, &ask)) return NULL;
    GB_PY_OWNED PyObject *name_before = gb_py_standing.name, *ask_before = gb_py_standing.ask;
    __atomic_store_n(&gb_py_standing.name, name == Py_None ? NULL : Py_NewRef(name),
                     __ATOMIC_RELEASE);
    __atomic_store_n(&gb_py_standing.ask, ask == Py_None ? NULL : Py_NewRef(ask), __ATOMIC_RELEASE);
    return Py_NewRef(Py_None);
}

/* A layout's function is known before anybody can ask for the backend: what is forgotten may run
 * Python code. */
int gb_py_add_backend(PyObject *name, PyObject *layout, gb_preset *preset) {
    gb_error e;
    Py_ssize_t bytes;
    if (!PyUnicode_Check(name))
        return PyErr_Format(PyExc_TypeError, "name: expected a str, got %R", name), -1;
    const char *text = PyUnicode_AsUTF8AndSize(name, &bytes);
    if (!text) return -1;
    if ((size_t)bytes != strlen(text))
        return PyErr_Format(PyExc_ValueError, "name: %R has a null character", name), -1;
    if (!functions && !(functions = PyDict_New())) return -1;
    if (gb_preset_register(text, preset, &e) < 0) return gb_py_raise(&e);
    GB_PY_OWNED PyObject *number =
        preset->order == GB_BY_CALLER ? PyLong_FromLong(preset->number) : NULL;
    int rc = preset->order != GB_BY_CALLER ? 0
             : number                      ? PyDict_SetItem(functions, number, layout)
                                           : -1;
    forget_all();
    gb_py_registered_so_far++;
    return rc;
}

PyObject *gb_py_registrations(PyObject *self, PyObject *none) {
    return PyLong_FromLong(gb_py_registered_so_far);
}

PyObject *gb_py_backends(PyObject *self, PyObject *none) {
    char *names = gb_preset_names("\n", 0);
    if (!names) return PyErr_NoMemory();
    GB_PY_OWNED PyObject *text = PyUnicode_FromString(names), *newline = PyUnicode_FromString("\n");
    GB_PY_OWNED PyObject *list = text && newline ? PyUnicode_Split(text, newline, -1) : NULL;
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    free(names);
    return tuple;
}
