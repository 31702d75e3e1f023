/* exact.c: sums of gridbuf.exact: arrays and Fields on the host added to an accumulator, an array
 * of int64; and checksums of gridbuf.distributed. */
#include "../exact/checksum.h"
#include "../exact/exact.h"
#include "core/args.h"
#include "copies/copies.h"

#define AT_ONCE (16 << 10) /* elements, some 10 us: releasing the GIL may cost more */

static gb_exact *accumulator_of(PyObject *obj) {
    PyArrayObject *a = (PyArrayObject *)obj;
    if (PyArray_Check(obj) && PyArray_TYPE(a) == NPY_INT64 && PyArray_ISCARRAY(a) &&
        PyArray_SIZE(a) == GB_EXACT_WORDS)
        return (gb_exact *)PyArray_DATA(a);
    return (gb_exact *)PyErr_Format(
        PyExc_TypeError, "values: expected a writable array of %d int64 in a row", GB_EXACT_WORDS);
}

static int view_of(PyObject *obj, const char *arg, gb_copy_view *view) {
    gb_py_memory m;
    if (gb_py_is_field(obj)) {
        if (gb_py_require_host_access((gb_py_field *)obj) < 0) return -1;
        m = gb_py_memory_of_field((gb_py_field *)obj);
    } else if (!gb_py_memory_of(obj, &m))
        return gb_py_fail(PyExc_TypeError, "%s: expected an ndarray or a Field, got %R", arg,
                          Py_TYPE(obj));
    *view = m.view;
    view->type = gb_py_descr_type(m.descr);
    return 0;
}

/* exact_add(values, x, y or None, negative): values change at the end, or not at all. */
PyObject *gb_py_exact_add(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    if (n != 4)
        return PyErr_Format(PyExc_TypeError,
                            "exact_add() takes values, x, y and negative, got %zd arguments", n);
    gb_copy_view x, y;
    int negative = PyObject_IsTrue(args[3]), products = args[2] != Py_None;
    if (negative < 0 || !accumulator_of(args[0])) return NULL;
    if (view_of(args[1], "x", &x) < 0 || (products && view_of(args[2], "y", &y) < 0)) return NULL;
    if (products && view_of(args[1], "x", &x) < 0)
        return NULL; /* the other thread's turn may have come meanwhile */
    gb_exact total = {0};
    gb_exact_job job;
    switch (gb_exact_plan(&job, &total, &x, products ? &y : NULL, negative)) {
    case GB_COPY_OK: break;
    case GB_COPY_NO_CAST:
        return PyErr_Format(PyExc_TypeError, "x: elements of this dtype cannot be summed");
    default: return PyErr_Format(PyExc_ValueError, "x, y: the shapes differ");
    }
    gb_work work = gb_exact_work(&job);
    if (job.elements < AT_ONCE) gb_exact_run(&job, 0, job.pieces);
    else if (gb_py_work(&work, 1, NULL) < 0) return NULL;
    gb_exact *values = accumulator_of(args[0]); /* Python code may have run */
    if (!values) return NULL;
    gb_exact_merge(values, &total);
    Py_RETURN_NONE;
}

/* exact_merge(values, other): other is added, and values brought into their one form. */
PyObject *gb_py_exact_merge(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    if (n != 2)
        return PyErr_Format(PyExc_TypeError,
                            "exact_merge() takes values and other, got %zd arguments", n);
    gb_exact *values = accumulator_of(args[0]), *other = values ? accumulator_of(args[1]) : NULL;
    if (!other) return NULL;
    gb_exact_merge(values, other);
    Py_RETURN_NONE;
}

/* checksum(words, start, seed): words is an array of unsigned integers whose last axis has the
 * words of an element; start has the place of element 0 along each of the others. */
PyObject *gb_py_checksum(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    if (n != 3)
        return PyErr_Format(PyExc_TypeError,
                            "checksum() takes words, start and seed, got %zd arguments", n);
    int64_t start[GB_COPY_DIMS], shape[GB_COPY_DIMS], strides[GB_COPY_DIMS];
    int ndim = gb_py_ints(args[1], "start", start, GB_COPY_DIMS);
    uint64_t seed = ndim < 0 ? 0 : PyLong_AsUnsignedLongLongMask(args[2]);
    if (ndim < 0 || PyErr_Occurred()) return NULL;
    PyArrayObject *a = (PyArrayObject *)args[0];
    if (!PyArray_Check(args[0]) || !PyArray_ISUNSIGNED(a) || !PyArray_ISNOTSWAPPED(a) ||
        PyArray_NDIM(a) != ndim + 1)
        return PyErr_Format(PyExc_TypeError,
                            "words: expected an array of unsigned integers with %d axes", ndim + 1);
    for (int i = 0; i < ndim; i++) {
        shape[i] = PyArray_DIM(a, i);
        strides[i] = PyArray_STRIDE(a, i);
    }
    gb_exact_checksum job = {.data = PyArray_DATA(a),
                             .shape = shape,
                             .strides = strides,
                             .start = start,
                             .ndim = ndim,
                             .words = PyArray_DIM(a, ndim),
                             .step = PyArray_STRIDE(a, ndim),
                             .word = (int)PyArray_ITEMSIZE(a),
                             .seed = seed};
    gb_work work = gb_exact_checksum_work(&job);
    if (PyArray_SIZE(a) < AT_ONCE) work.run(&job, 0, work.pieces);
    else if (gb_py_work(&work, 1, NULL) < 0) return NULL;
    return PyLong_FromUnsignedLongLong(job.sum);
}
