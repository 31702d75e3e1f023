/* number.c: the operators of storages: what ufunc.c knows, else gridbuf.storage.operators decides who computes. */
#include "storage.h"

static PyObject *unary(int which, PyObject *a) { return gb_py_unary(gb_py_storage_quick, which, a); }

static PyObject *binary(int which, PyObject *a, PyObject *b) {
    return gb_py_binary(gb_py_storage_quick, GB_PY_UP_STORAGE_BINARY, which, gb_py_is_storage(a), a, b);
}

static PyObject *in_place(int which, PyObject *a, PyObject *b) {
    return gb_py_in_place(gb_py_storage_quick, GB_PY_UP_STORAGE_IN_PLACE, which, a, b);
}

GB_PY_DEFINE_OPERATORS(gb_py_storage_)
