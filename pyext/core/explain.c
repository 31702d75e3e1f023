/* explain.c: a plan's figures for Go to explain; gridbuf/explain.py renders what it says. */
#include "plan.h"

#include <stdlib.h>

#define ROOM 16384   /* bytes: 32 indices need no more */

static int read_list(PyObject *obj, const char *name, int64_t *out, int ndim) {
    PyObject *value = PyObject_GetAttrString(obj, name);
    int n = value ? gb_py_ints(value, name, out, GB_MAXDIMS) : -1;
    Py_XDECREF(value);
    if (n < 0 || n == ndim) return n;
    return PyErr_Format(PyExc_ValueError, "%s: %d entries for %d indices", name, n, ndim), -1;
}

static int read_number(PyObject *obj, const char *name, int64_t *out) {
    GB_PY_OWNED PyObject *value = PyObject_GetAttrString(obj, name);
    return value ? gb_py_int64(value, name, "an int", out) : -1;
}

static int read_dims_and_item(PyObject *obj, gb_plan *plan) {
    GB_PY_OWNED PyObject *dims = PyObject_GetAttrString(obj, "dims"), *dtype = dims ? PyObject_GetAttrString(obj, "dtype") : NULL;
    int32_t codes[GB_MAXDIMS];
    int n = dtype ? gb_py_dims(dims, "dims", codes, GB_MAXDIMS) : -1;
    if (n >= 0 && n != plan->geometry.ndim) PyErr_Format(PyExc_ValueError, "dims: %d entries for %d indices", n, plan->geometry.ndim), n = -1;
    for (int i = 0; i < n; i++) plan->geometry.dims[i] = codes[i];
    if (n >= 0) n = read_number(dtype, "itemsize", &plan->geometry.itemsize);
    return n;
}

/* From any object with the attributes of a Plan. */
static int read_plan(PyObject *obj, gb_plan *plan) {
    int64_t layout[GB_MAXDIMS];
    int n = plan->geometry.ndim;
    if (read_list(obj, "shape", plan->geometry.shape, n) < 0 || read_list(obj, "strides", plan->geometry.strides, n) < 0 ||
        read_list(obj, "padded_shape", plan->padded_shape, n) < 0 || read_list(obj, "aligned_index", plan->aligned_index, n) < 0 ||
        read_list(obj, "layout", layout, n) < 0 || read_dims_and_item(obj, plan) < 0 ||
        read_number(obj, "byte_alignment", &plan->want.boundary) < 0 || read_number(obj, "offset", &plan->want.offset) < 0 ||
        read_number(obj, "nbytes", &plan->geometry.nbytes) < 0 || read_number(obj, "alloc_nbytes", &plan->want.reserve) < 0)
        return -1;
    for (int i = 0; i < n; i++) plan->layout[i] = (int32_t)layout[i];
    if (plan->want.boundary > 0) return 0;
    return PyErr_Format(PyExc_ValueError, "byte_alignment: %lld; expected 1 or more bytes", (long long)plan->want.boundary), -1;
}

/* explain(plan): lines of a term, a tab and a sentence. */
PyObject *gb_py_explain(PyObject *self, PyObject *obj) {
    int64_t ndim;
    if (read_number(obj, "ndim", &ndim) < 0) return NULL;
    if (ndim < 0 || ndim > GB_MAXDIMS) return PyErr_Format(PyExc_ValueError, "ndim: %lld; 0 to %d are allowed", (long long)ndim, GB_MAXDIMS);
    gb_error e;
    gb_plan *plan = gb_plan_new((int)ndim);
    char *text = malloc(ROOM);
    PyObject *said = NULL;
    if (!plan || !text) PyErr_NoMemory();
    else if (read_plan(obj, plan) == 0 && GB_PY_ENTER_GO(&e, gbridge_explain(plan, text, ROOM, &e)) == 0)
        said = PyUnicode_FromString(text);
    free(plan);
    free(text);
    return said;
}
