/* function.c: NumPy's functions on storages: reductions of all elements, which have nothing to say by name, here; all others are
 * gridbuf.storage.functions'. */
#include "storage.h"
#include "../core/of_the_type.h"

/* (self, function, types, args, kwargs) */
static PyObject *array_function(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 4) return PyErr_Format(PyExc_TypeError, "__array_function__(function, types, args, kwargs): %zd arguments given", nargs);
    PyObject *of_numpy = gb_py_whole_reduction(self, args[0], args[2], args[3]);
    PyArrayObject *host = of_numpy ? gb_py_plain_storage(self) : NULL;
    if (host) return PyObject_CallFunctionObjArgs(of_numpy, (PyObject *)host, Py_None, NULL);
    if (PyErr_Occurred()) return NULL;
    PyObject *function = gb_py_upcall_get(GB_PY_UP_STORAGE_FUNCTION);
    return function ? PyObject_CallFunctionObjArgs(function, self, args[0], args[1], args[2], args[3], NULL) : NULL;
}

/* Other libraries take the plain array of __array__. Where memory is on both sides it would grow old, and writing to it would tell
 * nobody: an error that they do not pass over. */
static void refuse(PyObject *obj, PyObject *name) {
    gb_py_storage *s = (gb_py_storage *)obj;
    if (s->host == Py_None || s->dev == Py_None) {
        PyErr_Format(PyExc_AttributeError, "%R is for NumPy, which asks the type of a Storage", name);
        return;
    }
    GB_PY_OWNED PyObject *own = PyObject_GetAttrString((PyObject *)Py_TYPE(obj), "__name__");
    if (own)
        PyErr_Format(PyExc_TypeError,
                     "data: a %U goes by name and has memory on both sides, which an array by position cannot follow; "
                     "gridbuf.interop.xarray.to_dataarray(s) is a DataArray that does, s.to_numpy() the host's memory, s.to_cupy() the device's",
                     own);
}

static PyMethodDef methods[] = {
    {"__array_function__", (PyCFunction)(void *)array_function, METH_FASTCALL, "What NumPy's functions ask."},
    {NULL},
};

int gb_py_storage_function_init(PyObject *module) { return gb_py_of_the_type(gb_py_StorageType, methods, refuse); }
