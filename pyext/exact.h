/* exact.h: what gridbuf.exact asks of exact/. */
#ifndef GRIDBUF_PYEXACT_H
#define GRIDBUF_PYEXACT_H

#include "core/common.h"

PyObject *gb_exact_add_py(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gb_exact_merge_py(PyObject *self, PyObject *const *args, Py_ssize_t n);

#endif
