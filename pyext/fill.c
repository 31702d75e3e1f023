/* fill.c: gridbuf.fill, and the values of ones, full and their like. */
#include "device.h"

#include <string.h>

/* One element of dst's dtype with the value, converted as by assignment. */
static PyArrayObject *element(PyArray_Descr *descr, PyObject *value) {
    Py_INCREF((PyObject *)descr);
    PyObject *one = PyArray_NewFromDescr(&PyArray_Type, descr, 0, NULL, NULL, NULL, 0, NULL);
    if (one && PyArray_CopyObject((PyArrayObject *)one, value) < 0) Py_CLEAR(one);
    return (PyArrayObject *)one;
}

int gb_fill_memory(gb_memory *dst, PyObject *value, PyObject *progress) {
    PyArrayObject *one = element(dst->descr, value);
    if (!one) return -1;
    gb_copy copy;
    int planned = gb_fill_plan(&copy, &dst->view, PyArray_DATA(one), GB_RAW, dst->view.itemsize);
    int rc = gb_copy_finish(&copy, planned, progress);
    Py_DECREF((PyObject *)one);
    return rc;
}

#define SMALL_FILL (256 << 10)   /* planning a fill of fewer bytes takes longer than the fill */

int gb_fill_zero(void *data, int64_t bytes) {
    if (bytes <= SMALL_FILL) return memset(data, 0, (size_t)bytes), 0;
    static const uint64_t zero;
    int64_t n = bytes / 8, stride = 8;
    gb_view words = {data, 8, GB_RAW, 1, &n, &stride};
    gb_copy copy;
    memset((char *)data + 8 * n, 0, (size_t)(bytes - 8 * n));
    return gb_copy_finish(&copy, gb_fill_plan(&copy, &words, &zero, GB_RAW, 8), NULL);
}

static int is_one_value(PyObject *value) {
    return PyFloat_Check(value) || PyLong_Check(value) || PyComplex_Check(value) || PyArray_IsScalar(value, Generic) ||
           (PyArray_Check(value) && PyArray_NDIM((PyArrayObject *)value) == 0);
}

int gb_assign(PyObject *target, PyObject *value) {
    gb_memory m;
    if (gb_memory_of(target, &m) && gb_descr_movable(m.descr) && is_one_value(value)) return gb_fill_memory(&m, value, NULL);
    if (gb_is_field(target) && gb_needs_driver(&((gb_field *)target)->place)) return gb_device_assign(target, value);
    PyObject *array = gb_is_field(target) ? gb_field_numpy(target, NULL) : Py_NewRef(target);
    int rc = array ? PyArray_CopyObject((PyArrayObject *)array, value) : -1;
    Py_XDECREF(array);
    return rc;
}

static PyObject *any_fill(PyObject *dst, PyObject *value, PyObject *progress) {
    PyObject *module = PyImport_ImportModule("gridbuf.transfer");
    PyObject *done = module ? PyObject_CallMethod(module, "_fill_any", "OOO", dst, value, progress ? progress : Py_None) : NULL;
    Py_XDECREF(module);
    return done;
}

PyObject *gb_fill_py(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *progress = NULL;
    Py_ssize_t named = kwnames ? PyTuple_Size(kwnames) : 0;
    if (nargs != 2) return PyErr_Format(PyExc_TypeError, "fill() takes dst and value, got %zd positional arguments", nargs);
    for (Py_ssize_t i = 0; i < named; i++) {
        PyObject *name = PyTuple_GetItem(kwnames, i);
        if (PyUnicode_CompareWithASCIIString(name, "progress") != 0)
            return PyErr_Format(PyExc_TypeError, "fill() has no argument %R; it has dst, value and progress", name);
        if (args[nargs + i] != Py_None) progress = args[nargs + i];
    }
    if (progress && !PyCallable_Check(progress))
        return PyErr_Format(PyExc_TypeError, "progress: expected a function of a float from 0 to 1, got %R", progress);
    gb_memory dst;
    int on_device = gb_may_be_cuda(args[0]);
    if (on_device > 0) on_device = gb_device_fill(args[0], args[1]);
    if (on_device < 0) return NULL;
    if (on_device && progress) return PyObject_CallFunction(progress, "d", 1.0);
    if (on_device) Py_RETURN_NONE;
    if (!gb_memory_of(args[0], &dst) || !gb_descr_movable(dst.descr)) return any_fill(args[0], args[1], progress);
    if (dst.readonly) return PyErr_Format(PyExc_ValueError, "dst: it is read-only");
    return gb_fill_memory(&dst, args[1], progress) < 0 ? NULL : Py_NewRef(Py_None);
}
