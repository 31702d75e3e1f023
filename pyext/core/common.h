/* common.h: included first by every file of the extension. The limited API of Python 3.11 and
 * NumPy's C API of 1.22, so that one wheel serves all versions. */
#pragma once

#include <Python.h>

/* PY_SSIZE_T_CLEAN is left out on purpose. Headers before 3.13 rename the functions that read
 * formats by it and later ones do not, so a format with '#' that is compiled with headers of 3.13
 * fails on 3.11 and 3.12: no format here has one (gb_py_bytes). */
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL gridbuf_ARRAY_API
#ifndef GB_PY_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "../../alloc/plan.h"
#include "functions.h"
#include "common.h"

/* Python 3.12's headers leave out the reference, because None and the others live for ever
 * there. The same wheel runs on 3.11, where they do not. */
#undef Py_RETURN_NONE
#undef Py_RETURN_TRUE
#undef Py_RETURN_FALSE
#undef Py_RETURN_NOTIMPLEMENTED
#define Py_RETURN_NONE return Py_NewRef(Py_None)
#define Py_RETURN_TRUE return Py_NewRef(Py_True)
#define Py_RETURN_FALSE return Py_NewRef(Py_False)
#define Py_RETURN_NOTIMPLEMENTED return Py_NewRef(Py_NotImplemented)

enum {
    GB_PY_FINAL = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    GB_PY_OPEN = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE
};

/* Makes a type, kept for good in *type, and an attribute of the module unless that is NULL. */
static inline int gb_py_add_type(PyObject *module, PyTypeObject **type, PyType_Spec spec,
                                 PyTypeObject *base) {
    *type = (PyTypeObject *)PyType_FromSpecWithBases(&spec, (PyObject *)base);
    if (!*type) return -1;
    if (!module) return 0;
    return PyModule_AddObjectRef(module, strrchr(spec.name, '.') + 1, (PyObject *)*type);
}

/* Slots of heap types are read through the limited API. */
#define GB_PY_FREE_OBJECT(self)                              \
    do {                                                     \
        PyTypeObject *type_ = Py_TYPE(self);                 \
        ((freefunc)PyType_GetSlot(type_, Py_tp_free))(self); \
        Py_DECREF(type_);                                    \
    } while (0)

/* ---- errors ---- */

/* gb_py_fail(type, format, ...): sets the error as PyErr_Format does, which returns NULL, and
 * returns -1. A macro, so that the compiler knows the result. */
#define gb_py_fail(...) gb_py_minus_one(PyErr_Format(__VA_ARGS__))
static inline int gb_py_minus_one(PyObject *null) {
    (void)null;
    return -1;
}

static inline int gb_py_no_memory(void) {
    PyErr_NoMemory();
    return -1;
}

/* ---- references that end with their scope ---- */

/* GB_PY_OWNED PyObject *x = ...: a reference, or NULL, that is dropped wherever its scope is left.
 * A returned expression is evaluated before that. */
#define GB_PY_OWNED __attribute__((cleanup(gb_py_drop_owned)))
static inline void gb_py_drop_owned(void *place) {
    Py_XDECREF(*(PyObject *__attribute__((may_alias)) *)place);
}

/* ---- tuples and lists of new objects: a failure leaves NULL in place of the whole, with an error
 * ---- */

/* Steal the item; NULL: an error is set. */
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
