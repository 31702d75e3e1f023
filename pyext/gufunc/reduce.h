/* reduce.h: g.reduce and what it is given. */
#pragma once

#include "../core/common.h"

PyObject *gb_py_gufunc_reduce(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *gb_py_gufunc_add_state(PyObject *self, PyObject *args);
