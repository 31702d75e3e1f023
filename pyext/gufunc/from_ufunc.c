/* from_ufunc.c: loops that somebody else compiled. */
#include "gufunc.h"

#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL gridbuf_UFUNC_API
#include <numpy/ufuncobject.h>

/* The loops of a numpy.ufunc: a list of (type numbers as bytes, function, data). The
 * caller has checked the type. */
PyObject *gb_py_gufunc_loops(PyObject *self, PyObject *ufunc) {
    PyUFuncObject *u = (PyUFuncObject *)ufunc;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < u->ntypes; i++) {
        if (!u->functions || !u->functions[i]) continue;
        gb_py_append(&list, Py_BuildValue("(y#KK)", u->types + (Py_ssize_t)i * u->nargs, (Py_ssize_t)u->nargs,
                                       (unsigned long long)(uintptr_t)u->functions[i],
                                       (unsigned long long)(uintptr_t)(u->data ? u->data[i] : NULL)));
    }
    return list;
}

PyObject *gb_py_gufunc_capsule(PyObject *self, PyObject *capsule) {
    if (!PyCapsule_CheckExact(capsule)) return PyErr_Format(PyExc_TypeError, "source: expected a PyCapsule, got %R", capsule);
    void *p = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    return p ? PyLong_FromVoidPtr(p) : NULL;
}
