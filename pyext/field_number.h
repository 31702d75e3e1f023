/* field_number.h: operators, comparisons and NumPy's protocols of functions, as slots of the Field type. */
#pragma once

#include "core/operators.h"
#include "field/field.h"

PyObject *gb_py_field_array_ufunc(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_py_field_array_function(PyObject *self, PyObject *args, PyObject *kwargs);
GB_PY_DECLARE_OPERATORS(gb_py_field_)
