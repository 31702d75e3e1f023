/* backends.c: backend names, and presets whose layout is a Python function. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

/* Names seen lately, by the address of the str; an entry holds a reference. */
#define MEMO 16
static struct { PyObject *name; int32_t number, order; } memo[MEMO];
static PyObject *functions;   /* preset number -> function(dims) -> layout */

static int slot(PyObject *name) { return (int)(((uintptr_t)name >> 4) * 0x9E3779B97F4A7C15u >> 60); }

static void forget_all(void) {
    for (int i = 0; i < MEMO; i++) Py_CLEAR(memo[i].name);
}

static int look_up(PyObject *name, int32_t *number, int32_t *order) {
    if (!PyUnicode_Check(name)) {
        PyErr_Format(PyExc_TypeError, "backend: expected a name (str), got %R", name);
        return -1;
    }
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (!text) return -1;
    gb_error e;
    const gb_preset *preset = gb_preset_find(text, &e);
    if (!preset) return gb_raise(&e);
    if (strlen(text) != (size_t)length) {
        PyErr_Format(gb_BackendError, "backend: %R is not known", name);
        return -1;
    }
    *number = preset->number;
    *order = preset->order;
    int i = slot(name);
    Py_XDECREF(memo[i].name);
    memo[i].name = Py_NewRef(name);
    memo[i].number = *number;
    memo[i].order = *order;
    return 0;
}

/* Ask the preset's function which layout it wants for these dims. */
static int call_function(gb_request *r) {
    int32_t dims[GB_MAXDIMS];
    int n = r->ndim - r->sub_ndim;
    for (int i = 0; i < n; i++) dims[i] = r->dims_len >= 0 ? r->dims[i] : i - 3;
    PyObject *number = PyLong_FromLong(r->backend), *names = gb_dims_tuple(dims, n), *layout = NULL;
    PyObject *function = number ? PyDict_GetItemWithError(functions, number) : NULL;
    if (function && names) layout = PyObject_CallFunctionObjArgs(function, names, NULL);
    int64_t ranks[GB_MAXDIMS];
    r->layout_len = layout ? gb_ints(layout, "layout", ranks, GB_MAXDIMS) : -1;
    for (int i = 0; i < r->layout_len; i++) r->layout[i] = ranks[i] < 0 || ranks[i] >= GB_MAXDIMS ? -1 : (int32_t)ranks[i];
    Py_XDECREF(number);
    Py_XDECREF(names);
    Py_XDECREF(layout);
    return r->layout_len < 0 ? -1 : 0;
}

int gb_read_backend(PyObject *obj, gb_request *r) {
    int32_t order = 0;
    if (!obj) {
        r->backend = 0;   /* "C", the first preset */
        return 0;
    }
    int i = slot(obj);
    if (__builtin_expect(memo[i].name == obj, 1)) {
        r->backend = memo[i].number;
        order = memo[i].order;
    } else if (look_up(obj, &r->backend, &order) < 0) {
        return -1;
    }
    return order == 3 && r->layout_len < 0 ? call_function(r) : 0;
}

static int read_axes(PyObject *layout, gb_preset *preset) {
    int32_t dims[8];
    int n = gb_dims(layout, "layout", dims, 8);
    if (n < 0) return -1;
    for (int i = 0; i < n; i++) {
        if (dims[i] >= 0) {
            PyErr_Format(PyExc_ValueError, "layout: %R names a data dimension; those are always slowest", layout);
            return -1;
        }
        preset->axes[i] = "IJK"[dims[i] + 3];
    }
    return 0;
}

PyObject *gb_register_backend(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"name", "layout", "alignment", "device", NULL};
    const char *name;
    PyObject *layout, *alignment = NULL, *device = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|$OOO:register_backend", names, &name, &layout, &alignment, &device)) return NULL;
    if (!layout) {
        PyErr_SetString(PyExc_TypeError, "register_backend() is missing the required argument 'layout'");
        return NULL;
    }
    gb_preset preset = {.alignment = 1, .device = 1};
    if (alignment && gb_int64(alignment, "alignment", "an int (items)", &preset.alignment) < 0) return NULL;
    if (device) {
        const char *text = PyUnicode_Check(device) ? PyUnicode_AsUTF8AndSize(device, NULL) : "";
        if (text && strcmp(text, "gpu") == 0) preset.device = 2;
        else if (!text || strcmp(text, "cpu") != 0) {
            if (text) PyErr_Format(PyExc_ValueError, "device: %R is not known; allowed are 'cpu' and 'gpu'", device);
            return NULL;
        }
    }
    if (PyCallable_Check(layout)) preset.order = 3;
    else if (read_axes(layout, &preset) < 0) return NULL;
    gb_error e;
    if (gb_preset_register(name, &preset, &e) < 0) return gb_raise(&e), NULL;
    forget_all();
    gb_forget_calls();
    if (preset.order == 3) {
        PyObject *number = PyLong_FromLong(preset.number);
        if (!functions) functions = PyDict_New();
        int rc = number && functions ? PyDict_SetItem(functions, number, layout) : -1;
        Py_XDECREF(number);
        if (rc < 0) return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *gb_backend_names(PyObject *self, PyObject *none) {
    char *names = gb_preset_names("\n");
    if (!names) return PyErr_NoMemory();
    PyObject *text = PyUnicode_FromString(names), *list = text ? PyUnicode_Splitlines(text, 0) : NULL;
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    free(names);
    Py_XDECREF(text);
    Py_XDECREF(list);
    return tuple;
}
