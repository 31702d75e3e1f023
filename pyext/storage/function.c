/* function.c: NumPy's functions on storages: reductions of all elements, which have nothing to say
 * by name, here; all others are gridbuf.storage.functions'. */
#include "storage.h"
#include "../core/attribute.h"

/* (self, function, types, args, kwargs) */
static PyObject *array_function(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 4)
        return PyErr_Format(
            PyExc_TypeError,
            "__array_function__(function, types, args, kwargs): %zd arguments given", nargs);
    PyObject *axis = NULL,
             *of_numpy = gb_py_plain_reduction(self, args[0], args[2], args[3], &axis);
    PyArrayObject *host = of_numpy && axis == Py_None ? gb_py_plain_storage(self) : NULL;
    if (host) return PyObject_CallFunctionObjArgs(of_numpy, (PyObject *)host, Py_None, NULL);
    if (PyErr_Occurred()) return NULL;
    PyObject *function = gb_py_upcall_get(GB_PY_UP_STORAGE_FUNCTION);
    return function ? PyObject_CallFunctionObjArgs(function, self, args[0], args[1], args[2],
                                                   args[3], NULL)
                    : NULL;
}

static void refuse(PyObject *obj, PyObject *name) {
    Py_XDECREF(gb_py_upcall_to(GB_PY_UP_STORAGE_REFUSE, "(OO)", obj, name));
}

static PyMethodDef methods[] = {
    {"__array_function__", (PyCFunction)(void *)array_function, METH_FASTCALL,
     "What NumPy's functions ask."},
    {NULL},
};

int gb_py_storage_function_init(PyObject *module) {
    return gb_py_type_only_methods(gb_py_StorageType, methods, refuse);
}
