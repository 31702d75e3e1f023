/* field_number.h: ufuncs and NumPy's protocols of functions, for the Field type. */
#pragma once

#include "core/elementwise.h"
#include "core/operators.h"
#include "field/field.h"

PyObject *gb_py_field_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_py_field_array_function(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_py_field_quick(PyObject *ufunc, PyObject *const *in, int n,
                            PyObject *out); /* NotImplemented: it needs thought */
