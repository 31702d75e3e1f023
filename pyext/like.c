/* like.c: empty_like and similar functions for plain arrays and for Fields that have a plan of
 * their own; gridbuf/arrays.py handles all others. */
#include "copies/copies.h"
#include "device/device.h"

/* The request whose answer has the array's order of strides and padding. */
static void request_like(PyArrayObject *array, gb_request *r) {
    int n = PyArray_NDIM(array);
    int64_t padded[GB_MAXDIMS];
    gb_geometry g = {.ndim = n,
                     .shape = (int64_t *)PyArray_DIMS(array),
                     .strides = (int64_t *)PyArray_STRIDES(array)};
    memset(r, 0, offsetof(gb_request, shape));
    r->ndim = r->layout_len = n;
    r->dims_len = r->aligned_len = -1;
    memcpy(r->shape, g.shape, (size_t)n * sizeof *r->shape);
    gb_plan_read_rows(&g, r->layout, padded);
    for (int i = 0; i < n; i++)
        if (r->layout[i] == n - 1) r->padding = padded[i] > g.shape[i] ? padded[i] : GB_PAD_NONE;
}

static PyObject *like_array(PyArrayObject *array, PyObject *wanted, int zero) {
    int64_t none[1];
    int brought = 0;
    gb_request r;
    PyArray_Descr *own = PyArray_DESCR(array);
    if (PyArray_BASE(array) && gb_py_block_behind((PyObject *)array))
        Py_RETURN_NONE; /* pinned or managed, and to stay so */
    if (PyArray_NDIM(array) > GB_MAXDIMS || PyDataType_FLAGCHK(own, NPY_ITEM_REFCOUNT))
        Py_RETURN_NONE;
    GB_PY_OWNED gb_py_dtype *dtype =
        gb_py_dtype_parse(wanted == Py_None ? (PyObject *)own : wanted, none, 0, &brought);
    if (!dtype) {
        if (brought == 0 && !PyErr_ExceptionMatches(PyExc_TypeError)) return NULL;
        PyErr_Clear(); /* a sub-shape adds indices; for no dtype the reader of requests has the
                          better error */
        Py_RETURN_NONE;
    }
    request_like(array, &r); /* only now: asking for the dtype may have run Python code */
    r.itemsize = dtype->itemsize;
    GB_PY_OWNED gb_py_plan_object *plan = gb_py_plan_for(&r, dtype);
    return plan ? gb_py_array_of(plan, zero) : NULL;
}

/* A Field like another one; its zeros are bytes, as zeros' are. */
static PyObject *like_field(PyObject *data, int zero) {
    if (zero && ((gb_py_field *)data)->location.kind != GB_PY_HEAP) Py_RETURN_NONE;
    PyObject *made = gb_py_field_empty_like(data, NULL);
    if (!zero || !made || made == Py_None) return made;
    int64_t span = ((gb_py_field *)data)->plan->plan->want.span;
    char *memory = ((gb_py_field *)made)->data;
    if (gb_heap_zero(memory, span) < 0 && gb_py_fill_zero(memory, span) < 0) Py_CLEAR(made);
    return made;
}

/* like(data, dtype or None, zero[, value]); None where strides alone do not decide. */
PyObject *gb_py_like(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs < 3 || nargs > 4)
        return PyErr_Format(PyExc_TypeError,
                            "like() takes data, dtype, zero and value, got %zd arguments", nargs);
    PyObject *made = NULL;
    int zero = args[2] == Py_True;
    if (PyArray_CheckExact(args[0])) made = like_array((PyArrayObject *)args[0], args[1], zero);
    else if (gb_py_is_field(args[0]) && args[1] == Py_None) made = like_field(args[0], zero);
    else Py_RETURN_NONE;
    if (nargs == 4 && made && made != Py_None && gb_py_assign(made, args[3]) < 0) Py_CLEAR(made);
    return made;
}
