/* lists.h: tuples and lists of new objects. What fails leaves NULL in place of the whole, with an
 * error. */
#pragma once

#include "common.h"

/* Steals the item, or NULL with an error. */
static inline void gb_py_put(PyObject **tuple, Py_ssize_t i, PyObject *item) {
    if (!item || PyTuple_SetItem(*tuple, i, item) < 0) Py_CLEAR(*tuple);
}

static inline void gb_py_append(PyObject **list, PyObject *item) {
    if (!item || PyList_Append(*list, item) < 0) Py_CLEAR(*list);
    Py_XDECREF(item);
}

static inline PyObject *gb_py_tuple_of(PyObject *const *items, Py_ssize_t n) {
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; tuple && i < n; i++) PyTuple_SetItem(tuple, i, Py_NewRef(items[i]));
    return tuple;
}
