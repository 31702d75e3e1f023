/* values.c: values for NumPy: memory is checked by gridbuf before NumPy reads it. */
#include "../core/attribute.h"
#include "../core/references.h"
#include "exchange.h"

/* Whether NumPy would trust a protocol of the object without a check. 1 or 0; -1 with an error. */
static int numpy_would_believe(PyObject *obj) {
    return PyObject_CheckBuffer(obj)
               ? 1
               : gb_py_has_any(
                     obj, (PyObject *[]){gb_py_attr.array_struct, gb_py_attr.array_interface}, 2);
}

static int is_list(PyObject *obj) { return PyList_Check(obj) || PyTuple_Check(obj); }

/* NumPy reads lists item by item: one that describes memory is checked as if it had come alone. */
static PyObject *item_values(PyObject *item) {
    if (PyArray_Check(item)) return gb_py_unmasked(item);
    if (gb_py_is_value(item) && !is_list(item)) return Py_NewRef(item);
    int believed = is_list(item) || gb_py_is_field(item) ? 1 : numpy_would_believe(item);
    if (believed < 0) return NULL;
    return believed ? gb_py_values_of(item) : Py_NewRef(item);
}

/* The list itself where nothing in it had to be replaced. */
static PyObject *list_values(PyObject *list) {
    GB_PY_HELD PyObject *items =
        PySequence_Tuple(list); /* looking at an item may change the list */
    PyObject *made = NULL;
    if (!items || Py_EnterRecursiveCall(" while the values in a list are read")) return NULL;
    Py_ssize_t n = PyTuple_Size(items);
    int failed = 0;
    for (Py_ssize_t i = 0; i < n && !failed; i++) {
        PyObject *item = PyTuple_GetItem(items, i), *value;
        if (PyFloat_CheckExact(item) || PyLong_CheckExact(item)) continue;
        value = item_values(item);
        if (value && value != item && !made) made = PySequence_List(items);
        if (value && value != item && made) failed = PyList_SetItem(made, i, value) < 0;
        else Py_XDECREF(value);
        failed |= !value || (value != item && !made);
    }
    Py_LeaveRecursiveCall();
    if (failed) {
        gb_py_decref_foreign(made);
        return NULL;
    }
    if (!made || PyList_Check(list)) return made ? made : Py_NewRef(list);
    PyObject *tuple = PyList_AsTuple(made); /* an index distinguishes tuples from lists */
    Py_DECREF(made);
    return tuple;
}

/* The one place that decides whether an object is memory or a value: copies depend on it. */
PyObject *gb_py_values_of(PyObject *obj) {
    if (is_list(obj)) return list_values(obj);
    if (PyArray_Check(obj)) return gb_py_unmasked(obj);
    if (gb_py_is_value(obj)) return Py_NewRef(obj);
    if (gb_py_is_field(obj))
        return ((gb_py_field *)obj)->location.kind == GB_PY_ON_DEVICE
                   ? Py_NewRef(obj)
                   : gb_py_field_numpy(obj, NULL);
    int believed = PyCapsule_CheckExact(obj) ? 1 : numpy_would_believe(obj);
    if (believed) return believed < 0 ? NULL : gb_py_wrap_for(NULL, obj, 0);
    PyObject *object = gb_py_unknown_to_numpy(obj);
    if (object != Py_NotImplemented) return object;
    Py_DECREF(object);
    return Py_NewRef(obj);
}

int gb_py_is_one_value(PyObject *obj) {
    return PyFloat_Check(obj) || PyLong_Check(obj) || PyComplex_Check(obj) ||
           PyArray_IsScalar(obj, Generic) ||
           (PyArray_Check(obj) && PyArray_NDIM((PyArrayObject *)obj) == 0);
}

PyArrayObject *gb_py_element(PyArray_Descr *descr, PyObject *value) {
    PyObject *one = NULL;
    GB_PY_OWNED PyObject *checked = gb_py_values_of(value);
    if (checked)
        one = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef((PyObject *)descr), 0,
                                   NULL, NULL, NULL, 0, NULL);
    if (one && PyArray_CopyObject((PyArrayObject *)one, checked) < 0) Py_CLEAR(one);
    return (PyArrayObject *)one;
}

PyObject *gb_py_values(PyObject *self, PyObject *obj) { return gb_py_values_of(obj); }
