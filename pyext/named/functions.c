/* functions.c: __array_function__ of Fields and storages: reductions with nothing but an axis, and
 * np.where of operands with the same indices. All other functions are gridbuf/named/functions.py's.
 */
#include "named.h"

/* ---- np.where ---- */

/* Whether an array of a Field's or a storage's shape, a number, or one of the same indices. */
static int beside_field(PyObject *obj, const gb_py_field *lead) {
    return gb_py_field_code_beside(obj, lead) >= 0;
}

static int beside_storage(PyObject *obj, const gb_py_storage *lead) {
    PyArrayObject *host = (PyArrayObject *)lead->host;
    if (PyArray_CheckExact(obj))
        return PyArray_NDIM(host) > 0 && PyArray_SAMESHAPE((PyArrayObject *)obj, host);
    if (!gb_py_is_storage(obj)) return gb_py_code_of_number(obj) >= 0;
    PyArrayObject *own = gb_py_plain_storage(obj);
    return own && ((gb_py_storage *)obj)->meta == lead->meta && PyArray_SAMESHAPE(own, host);
}

static PyObject *array_of(PyObject *obj) {
    if (gb_py_is_field(obj)) return gb_py_field_numpy(obj, NULL);
    return Py_NewRef(gb_py_is_storage(obj) ? ((gb_py_storage *)obj)->host : obj);
}

/* The first of what decides the result; NULL: an error, or not for here. */
static PyObject *lead_of(PyObject *args) {
    PyObject *field = NULL, *storage = NULL;
    for (Py_ssize_t i = PyTuple_Size(args); i-- > 0;) {
        PyObject *obj = PyTuple_GetItem(args, i);
        if (gb_py_is_plain_field(obj)) field = obj;
        else if (gb_py_plain_storage(obj)) storage = obj;
    }
    return storage && field ? NULL : storage ? storage : field;
}

static PyObject *where(PyObject *args) {
    if (!PyTuple_Check(args) || PyTuple_Size(args) != 3 || !gb_py_weak_numbers)
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *lead = lead_of(args);
    if (!lead) return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    int of_field = gb_py_is_field(lead);
    GB_PY_OWNED PyObject *arrays = PyTuple_New(3);
    for (Py_ssize_t i = 0; arrays && i < 3; i++) {
        PyObject *obj = PyTuple_GetItem(args, i);
        if (of_field ? !beside_field(obj, (gb_py_field *)lead)
                     : !beside_storage(obj, (gb_py_storage *)lead))
            return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
        gb_py_put(&arrays, i, array_of(obj));
    }
    GB_PY_OWNED PyObject *meta = of_field ? NULL : Py_NewRef(((gb_py_storage *)lead)->meta);
    GB_PY_OWNED PyObject *found = arrays ? PyObject_CallObject(gb_py_where, arrays) : NULL;
    if (!found) return NULL;
    if (!PyArray_CheckExact(found)) Py_RETURN_NOTIMPLEMENTED;
    PyArrayObject *values = (PyArrayObject *)found;
    if (!of_field) return gb_py_storage_holding(Py_TYPE(lead), meta, values);
    GB_PY_OWNED gb_py_dtype *dtype = gb_py_dtype_of(PyArray_DESCR(values));
    return dtype ? gb_py_field_holding(gb_py_field_like((gb_py_field *)lead, dtype), values) : NULL;
}

/* ---- the protocol ---- */

/* (self, function, types, args, kwargs) */
static PyObject *answered(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                          gb_py_upcall python) {
    if (nargs != 4)
        return PyErr_Format(
            PyExc_TypeError,
            "__array_function__(function, types, args, kwargs): %zd arguments given", nargs);
    int bare = PyDict_Check(args[3]) && PyDict_Size(args[3]) == 0;
    PyObject *found = args[0] == gb_py_where && bare
                          ? where(args[2])
                          : gb_py_function_reduced(self, args[0], args[2], args[3]);
    if (found != Py_NotImplemented) return found;
    Py_DECREF(found);
    PyObject *function = gb_py_upcall_get(python);
    return function
               ? PyObject_CallFunctionObjArgs(function, args[0], args[1], args[2], args[3], NULL)
               : NULL;
}

PyObject *gb_py_field_array_function(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    return answered(self, args, nargs, GB_PY_UP_FIELD_FUNCTION);
}

PyObject *gb_py_storage_array_function(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    return answered(self, args, nargs, GB_PY_UP_STORAGE_FUNCTION);
}
