/* named.h: NumPy by the names of indices, for Fields and storages on the host: the fast paths in C.
 * NotImplemented: gridbuf/named/ answers. */
#pragma once

#include "../field/field.h"
#include "../storage/storage.h"
#include "elementwise.h"
#include "operators.h"

/* ---- broadcast.c ---- */

/* Copy a broadcast operand into memory of the target's shape and order, into the target itself if
 * `fresh`. NULL without an error: plain broadcasting is as fast. */
PyObject *gb_py_materialise(PyArrayObject *view, PyArrayObject *target, int fresh);

/* ---- alike.c ---- */

/* A ufunc of Fields with the same indices. */
PyObject *gb_py_alike(PyObject *ufunc, PyObject *const *in, int n, PyObject *out);
/* gb_py_code_of for an operand beside the Field `lead`; -1: no fast path. */
int gb_py_field_code_beside(PyObject *obj, const gb_py_field *lead);

/* ---- ufuncs.c ---- */

PyObject *gb_py_by_name(PyObject *ufunc, PyObject *const *in, int n, PyObject *out);
PyObject *gb_py_field_quick(PyObject *ufunc, PyObject *const *in, int n, PyObject *out);
PyObject *gb_py_field_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_py_storage_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs);

/* ---- reductions.c ---- */

/* Run __array_function__ where its arguments are a reduction of self with nothing but an axis. */
PyObject *gb_py_function_reduced(PyObject *self, PyObject *function, PyObject *args,
                                 PyObject *kwargs);
/* The arguments of __array_ufunc__, likewise. */
PyObject *gb_py_ufunc_reduced(PyObject *args, PyObject *kwargs);

/* ---- functions.c ---- */

PyObject *gb_py_field_array_function(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *gb_py_storage_array_function(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
