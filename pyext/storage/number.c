/* number.c: the operators of storages: what ufunc.c knows, else gridbuf.storage.operators decides who computes. */
#include "storage.h"
#include "../core/upcall.h"

static PyObject *unary(int which, PyObject *a) {
    PyObject *result = gb_py_storage_quick(gb_py_ufuncs[which], &a, 1, NULL);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
    return PyObject_CallFunctionObjArgs(gb_py_ufuncs[which], a, NULL);
}

static int is_inexact(PyObject *storage) {
    GB_PY_OWNED PyObject *dtype = PyObject_GetAttrString(storage, "dtype");
    int number = dtype && PyArray_DescrCheck(dtype) ? ((PyArray_Descr *)dtype)->type_num : -1, is = PyTypeNum_ISFLOAT(number) || PyTypeNum_ISCOMPLEX(number);
    PyErr_Clear();
    return is;
}

/* What `**` is for some exponents, as for ndarrays: a square or a root of one operand. */
static int as_unary(int which, PyObject *a, PyObject *exponent) {
    if (which != GB_PY_U_POWER || !gb_py_is_storage(a)) return which;
    if (PyLong_CheckExact(exponent)) {
        int overflow;
        return PyLong_AsLongAndOverflow(exponent, &overflow) == 2 ? GB_PY_U_SQUARE : which;
    }
    double e = PyFloat_CheckExact(exponent) ? PyFloat_AsDouble(exponent) : 0.0;
    if ((e != 2.0 && e != 0.5) || !is_inexact(a)) return which;
    return e == 2.0 ? GB_PY_U_SQUARE : GB_PY_U_SQRT;
}

static PyObject *asked(gb_py_upcall who, int which, PyObject *a, PyObject *b) {
    PyObject *function = gb_py_upcall_get(who);
    return function ? PyObject_CallFunctionObjArgs(function, gb_py_ufuncs[which], a, b, NULL) : NULL;
}

static PyObject *binary(int which, PyObject *a, PyObject *b) {
    int other = as_unary(which, a, b);
    if (other != which) return unary(other, a);
    PyObject *in[2] = {a, b}, *result = gb_py_storage_quick(gb_py_ufuncs[which], in, 2, NULL);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
    return asked(GB_PY_UP_STORAGE_BINARY, which, a, b);
}

static PyObject *in_place(int which, PyObject *a, PyObject *b) {
    int other = as_unary(which, a, b);
    PyObject *in[2] = {a, b}, *result = gb_py_storage_quick(gb_py_ufuncs[other], in, other == which ? 2 : 1, a);
    if (result != Py_NotImplemented) return result;
    Py_DECREF(result);
    return asked(GB_PY_UP_STORAGE_IN_PLACE, other, a, other == which ? b : NULL);
}

GB_PY_DEFINE_OPERATORS(gb_py_storage_)
