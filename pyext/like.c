/* like.c: empty_like and its kin for plain arrays; gridbuf/arrays.py knows all the others. */
#include "array.h"
#include "copying.h"

#include <string.h>

/* The request whose answer has the array's order of strides and padding. */
static void request_like(PyArrayObject *array, gb_request *r) {
    int n = PyArray_NDIM(array);
    int64_t padded[GB_MAXDIMS];
    gb_geometry g = {.ndim = n, .shape = (int64_t *)PyArray_DIMS(array), .strides = (int64_t *)PyArray_STRIDES(array)};
    memset(r, 0, offsetof(gb_request, shape));
    r->ndim = r->layout_len = n;
    r->dims_len = r->aligned_len = -1;
    memcpy(r->shape, g.shape, (size_t)n * sizeof *r->shape);
    gb_read_rows(&g, r->layout, padded);
    for (int i = 0; i < n; i++)
        if (r->layout[i] == n - 1) r->padding = padded[i] > g.shape[i] ? padded[i] : GB_PAD_NONE;
}

/* like(array, dtype or None, zero[, value]), or None: there is more to be asked than strides. */
PyObject *gb_like(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    int64_t none[1];
    int brought = 0;
    gb_request r;
    if (nargs < 3 || nargs > 4) return PyErr_Format(PyExc_TypeError, "like() takes 3 or 4 arguments, got %zd", nargs);
    if (!PyArray_CheckExact(args[0]) || PyArray_NDIM((PyArrayObject *)args[0]) > GB_MAXDIMS) Py_RETURN_NONE;
    PyArray_Descr *own = PyArray_DESCR((PyArrayObject *)args[0]);
    if (PyDataType_FLAGCHK(own, NPY_ITEM_REFCOUNT)) Py_RETURN_NONE;
    gb_dtype *dtype = gb_dtype_parse(args[1] == Py_None ? (PyObject *)own : args[1], none, 0, &brought);
    if (!dtype) {
        if (brought == 0) return NULL;
        PyErr_Clear();   /* a sub-shape: more indices */
        Py_RETURN_NONE;
    }
    request_like((PyArrayObject *)args[0], &r);   /* only now: asking for the dtype may have run Python code */
    r.itemsize = dtype->itemsize;
    gb_plan_object *plan = gb_plan_for(&r, dtype);
    Py_DECREF((PyObject *)dtype);
    PyObject *array = plan ? gb_array_of(plan, args[2] == Py_True) : NULL;
    Py_XDECREF((PyObject *)plan);
    if (array && nargs == 4 && gb_assign(array, args[3]) < 0) Py_CLEAR(array);
    return array;
}
