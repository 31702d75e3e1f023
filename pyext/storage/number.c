/* number.c: the operators of storages: what ufunc.c knows, else gridbuf.storage.operators decides who computes. */
#include "storage.h"

static PyObject *unary(int which, PyObject *a) {
    PyObject *result = gb_py_storage_quick(gb_py_ufuncs[which], &a, 1, NULL, 0);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
    return PyObject_CallFunctionObjArgs(gb_py_ufuncs[which], a, NULL);
}

static PyObject *asked(gb_py_upcall who, int which, PyObject *a, PyObject *b) {
    PyObject *function = gb_py_upcall_get(who);
    return function ? PyObject_CallFunctionObjArgs(function, gb_py_ufuncs[which], a, b, NULL) : NULL;
}

static PyObject *binary(int which, PyObject *a, PyObject *b) {
    int other = gb_py_is_storage(a) ? gb_py_as_unary(which, a, b) : which;
    if (other != which) return unary(other, a);
    PyObject *in[2] = {a, b}, *result = gb_py_storage_quick(gb_py_ufuncs[which], in, 2, NULL, 0);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
    return asked(GB_PY_UP_STORAGE_BINARY, which, a, b);
}

static PyObject *in_place(int which, PyObject *a, PyObject *b) {
    int other = gb_py_as_unary(which, a, b);
    PyObject *in[2] = {a, b}, *result = gb_py_storage_quick(gb_py_ufuncs[other], in, other == which ? 2 : 1, a, 0);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
    return asked(GB_PY_UP_STORAGE_IN_PLACE, other, a, other == which ? b : NULL);
}

GB_PY_DEFINE_OPERATORS(gb_py_storage_)
