/* named.h: NumPy by the names of indices, for Fields and storages on the host: what C answers by
 * itself. NotImplemented: gridbuf/named/ has to. */
#pragma once

#include "../field/field.h"
#include "../storage/storage.h"
#include "elementwise.h"
#include "operators.h"

/* ---- broadcast.c ---- */

/* An input of the target's dtypes and indices with the elements that NumPy would repeat; `fresh`:
 * it may be the target. NULL without an error: nothing to gain. */
PyObject *gb_py_storage_spread(PyArrayObject *view, PyArrayObject *target, int fresh);

/* ---- alike.c ---- */

/* A ufunc of Fields with the same indices. */
PyObject *gb_py_alike(PyObject *ufunc, PyObject *const *in, int n, PyObject *out);
/* How an operand beside the Field `lead` enters the question for the dtype; -1: not for here. */
int gb_py_field_code_beside(PyObject *obj, const gb_py_field *lead);

/* ---- ufuncs.c ---- */

PyObject *gb_py_by_name(PyObject *ufunc, PyObject *const *in, int n, PyObject *out);
PyObject *gb_py_field_quick(PyObject *ufunc, PyObject *const *in, int n, PyObject *out);
PyObject *gb_py_field_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_py_storage_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs);

/* ---- reductions.c ---- */

/* A reduction by of_numpy(array, axis). */
PyObject *gb_py_reduced_by(PyObject *of_numpy, PyObject *obj, PyObject *axis);
/* The arguments of __array_function__, where they ask for a reduction of self with nothing but an
 * axis. */
PyObject *gb_py_function_reduced(PyObject *self, PyObject *function, PyObject *args,
                                 PyObject *kwargs);
/* The arguments of __array_ufunc__, likewise. */
PyObject *gb_py_ufunc_reduced(PyObject *args, PyObject *kwargs);

/* ---- functions.c ---- */

PyObject *gb_py_field_array_function(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *gb_py_storage_array_function(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
