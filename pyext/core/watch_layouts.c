/* watch_layouts.c: how arrays lie, as one number. */
#include "watching.h"

#define MIX(h, w) (((h) ^ (h) >> 29 ^ (uint64_t)(w)) * 0x9E3779B97F4A7C15u)

uint64_t gb_py_layout(uint64_t h, PyArrayObject *array) {
    h = MIX(h, PyArray_TYPE(array));
    for (int i = 0; i < PyArray_NDIM(array); i++) h = MIX(h, PyArray_STRIDES(array)[i]);
    return MIX(h, PyArray_NDIM(array));
}

/* How the arrays among a dict's values lie: a number made of their strides and types. 0 where there is something else than
 * NumPy's arrays, numbers, and what has no memory: that has to be asked in Python. */
int gb_py_layouts_key(PyObject *values, uint64_t *key) {
    uint64_t h = 0;
    Py_ssize_t at = 0;
    PyObject *value;
    while (PyDict_Next(values, &at, NULL, &value)) {
        h = MIX(h, 1);
        if (PyArray_CheckExact(value)) h = gb_py_layout(h, (PyArrayObject *)value);
        else if (!(value == Py_None || PyFloat_Check(value) || PyLong_Check(value) || PyTuple_Check(value) || PyDict_Check(value) ||
                     PyArray_CheckScalar(value)))
            return 0;
    }
    *key = h;
    return 1;
}

PyObject *gb_py_watch_strides(PyObject *self, PyObject *values) {
    uint64_t key;
    if (!PyDict_Check(values)) return PyErr_Format(PyExc_TypeError, "watch_strides: expected a dict");
    return gb_py_layouts_key(values, &key) ? PyLong_FromUnsignedLongLong(key) : Py_NewRef(Py_None);
}
