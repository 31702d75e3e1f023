/* common.h: what every file of the extension includes first. Python's limited API
 * (3.11) and NumPy's C API at its 1.22 level, so that one wheel serves them all. */
#pragma once

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
#include "owned.h"

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
