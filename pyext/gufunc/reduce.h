/* reduce.h: g.reduce and what it is given. */
#ifndef GRIDBUF_PYGUFUNC_REDUCE_H
#define GRIDBUF_PYGUFUNC_REDUCE_H

#include "../core/common.h"

PyObject *gb_py_gufunc_reduce(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *gb_py_gufunc_add_state(PyObject *self, PyObject *args);

#endif
