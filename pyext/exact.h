/* exact.h: what gridbuf.exact asks of exact/. */
#pragma once

#include "core/common.h"

PyObject *gb_py_exact_add(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gb_py_exact_merge(PyObject *self, PyObject *const *args, Py_ssize_t n);
