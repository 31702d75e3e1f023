/* fill.c: gridbuf.fill, and the values of ones, full and their like. */
#include "device.h"
#include "pending.h"
#include "wrap.h"

#include <string.h>

/* One element of the dtype with the value, converted as by assignment: the value's own code may run. */
static PyArrayObject *element(PyArray_Descr *descr, PyObject *value, const char *argument) {
    PyObject *one = NULL, *checked = gb_values(value);
    if (checked) one = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef((PyObject *)descr), 0, NULL, NULL, NULL, 0, NULL);
    if (one && PyArray_CopyObject((PyArrayObject *)one, checked) < 0) Py_CLEAR(one);
    Py_XDECREF(checked);
    if (!one) gb_blame(argument, 1);
    return (PyArrayObject *)one;
}

static int refuse_readonly(const gb_memory *m) {
    if (m->readonly) PyErr_SetString(PyExc_ValueError, "dst: it is read-only");
    return -m->readonly;
}

/* 1: done; 0: not for these kernels; -1: an error. The value is converted before dst's memory is looked at. */
static int fill(PyObject *dst, PyObject *value, const char *argument, PyObject *progress) {
    gb_memory m;
    if (!gb_memory_of(dst, &m) || !gb_descr_movable(m.descr)) return 0;
    if (refuse_readonly(&m) < 0) return -1;
    PyArray_Descr *descr = (PyArray_Descr *)Py_NewRef((PyObject *)m.descr);
    PyArrayObject *one = element(descr, value, argument);
    int rc = -1;
    gb_copy copy;
    if (one && gb_memory_of(dst, &m) && refuse_readonly(&m) == 0) {
        if (m.descr != descr) PyErr_SetString(PyExc_RuntimeError, "dst: its dtype changed while the value was converted");
        else rc = gb_copy_finish(&copy, gb_fill_plan(&copy, &m.view, PyArray_DATA(one), GB_RAW, m.view.itemsize), progress);
    }
    Py_XDECREF((PyObject *)one);
    Py_DECREF((PyObject *)descr);
    return rc < 0 ? -1 : 1;
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
    int filled = is_one_value(value) ? fill(target, value, "fill_value", NULL) : 0;
    if (filled) return filled < 0 ? -1 : 0;
    if (gb_is_field(target) && gb_needs_driver(&((gb_field *)target)->place)) return gb_device_assign(target, value);
    PyObject *array = gb_is_field(target) ? gb_field_numpy(target, NULL) : Py_NewRef(target);
    PyObject *checked = array ? gb_values(value) : NULL;
    int rc = checked ? PyArray_CopyObject((PyArrayObject *)array, checked) : -1;
    if (rc < 0) gb_blame("fill_value", 1);
    Py_XDECREF(array);
    Py_XDECREF(checked);
    return rc;
}

static PyObject *any_fill(PyObject *dst, PyObject *value, PyObject *progress) {
    PyObject *module = PyImport_ImportModule("gridbuf.numpy_copies");
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
    int on_device = gb_may_be_cuda(args[0]);
    if (on_device > 0) on_device = gb_device_fill(args[0], args[1]);
    if (on_device < 0) return gb_blame("dst", 0), NULL;
    if (on_device && progress) return PyObject_CallFunction(progress, "d", 1.0);
    if (on_device) Py_RETURN_NONE;
    int filled = fill(args[0], args[1], "value", progress);
    if (filled == 0) return any_fill(args[0], args[1], progress);
    return filled < 0 ? NULL : Py_NewRef(Py_None);
}
