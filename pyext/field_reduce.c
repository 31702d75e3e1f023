/* field_reduce.c: reductions of host Fields over indices given by name or number, by what NumPy
 * reduces arrays with. Wrong names, Fields elsewhere and of users' classes, `out`, `where` and the
 * like are gridbuf.fields.reductions'. */
#include "core/upcall.h"
#include "field/field.h"

/* Marks the indices that `part` means: a number, or names of I, J and K. 0: for Python to judge. */
static int mark(const gb_py_field *f, PyObject *part, char *over) {
    int n = f->geometry.ndim;
    if (PyLong_CheckExact(part)) {
        int overflow;
        long long k = PyLong_AsLongLongAndOverflow(part, &overflow);
        if (overflow || k < -n || k >= n) return 0;
        k += k < 0 ? n : 0;
        return over[k] ? 0 : (over[k] = 1);
    }
    if (!PyUnicode_CheckExact(part) || !f->dims_given) return 0;
    Py_ssize_t length;
    const char *letters = PyUnicode_AsUTF8AndSize(part, &length);
    if (!letters || length == 0) return PyErr_Clear(), 0;
    for (; *letters; letters++) {
        int k = 0;
        if (*letters < 'I' || *letters > 'K') return 0;
        while (k < n && f->geometry.dims[k] != GB_DIM_OF(*letters)) k++;
        if (k == n || over[k]) return 0;
        over[k] = 1;
    }
    return 1;
}

static int marked(const gb_py_field *f, PyObject *axis, char *over) {
    if (!PyTuple_CheckExact(axis)) return mark(f, axis, over);
    Py_ssize_t count = PyTuple_Size(axis);
    int good = count > 0;
    for (Py_ssize_t i = 0; good && i < count; i++) good = mark(f, PyTuple_GetItem(axis, i), over);
    return good;
}

/* The marked indices as NumPy takes them. */
static PyObject *numbers_of(const char *over, int n) {
    int64_t all[GB_MAXDIMS];
    int count = 0;
    for (int i = 0; i < n; i++)
        if (over[i]) all[count++] = i;
    return count == 1 ? PyLong_FromLongLong(all[0]) : gb_py_ints_tuple(all, count);
}

PyObject *gb_py_field_holding(gb_py_field *made, PyArrayObject *found) {
    GB_PY_OWNED PyObject *field = (PyObject *)made;
    GB_PY_OWNED PyObject *array = field ? gb_py_field_numpy(field, NULL) : NULL;
    return array && PyArray_CopyInto((PyArrayObject *)array, found) == 0 ? Py_NewRef(field) : NULL;
}

static PyObject *as_field(const gb_py_field *lead, PyObject *values, const int *kept, int n) {
    GB_PY_OWNED PyArrayObject *found = (PyArrayObject *)PyArray_FROM_O(values);
    if (!found) return NULL;
    GB_PY_OWNED gb_py_dtype *dtype = gb_py_dtype_of(PyArray_DESCR(found));
    return dtype ? gb_py_field_holding(gb_py_field_of_indices(lead, kept, n, dtype), found) : NULL;
}

PyObject *gb_py_field_reduced(PyObject *of_numpy, PyObject *field, PyObject *axis) {
    char over[GB_MAXDIMS] = {0};
    int kept[GB_MAXDIMS], n = 0;
    if (!gb_py_is_plain_field(field)) Py_RETURN_NOTIMPLEMENTED;
    const gb_py_field *f = (gb_py_field *)field;
    if (f->geometry.ndim == 0 || (axis != Py_None && !marked(f, axis, over)))
        Py_RETURN_NOTIMPLEMENTED;
    for (int i = 0; i < f->geometry.ndim; i++)
        if (axis != Py_None && !over[i]) kept[n++] = i;
    GB_PY_OWNED PyObject *array = gb_py_field_numpy(field, NULL);
    GB_PY_OWNED PyObject *numbers =
        axis == Py_None ? Py_NewRef(Py_None) : numbers_of(over, f->geometry.ndim);
    GB_PY_OWNED PyObject *found =
        array && numbers ? PyObject_CallFunctionObjArgs(of_numpy, array, numbers, NULL) : NULL;
    if (!found || axis == Py_None) return Py_XNewRef(found);
    if (n ? PyArray_CheckExact(found) && PyArray_NDIM((PyArrayObject *)found) == n
          : PyArray_IsScalar(found, Generic))
        return as_field(f, found, kept, n);
    Py_RETURN_NOTIMPLEMENTED;
}

/* reduced(function, obj, axis): NumPy's function with nothing but an axis; NotImplemented where
 * there is more to be asked. */
PyObject *gb_py_reduced(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 3)
        return PyErr_Format(PyExc_TypeError,
                            "reduced() takes function, obj and axis, got %zd arguments", nargs);
    PyObject *whole = gb_py_upcall_get(GB_PY_UP_WHOLE);
    PyObject *of_numpy =
        whole && PyDict_Check(whole) ? PyDict_GetItemWithError(whole, args[0]) : NULL;
    if (of_numpy) return gb_py_field_reduced(of_numpy, args[1], args[2]);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NOTIMPLEMENTED;
}
