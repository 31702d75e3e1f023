/* keys.c: reading keys of slices and integers, from the first index to the last. */
#include "keys.h"

#define INLINED __attribute__((always_inline)) inline /* views are made often */

static INLINED int cut_by(PyObject *part, int64_t n, int axis, gb_py_cut *c, int of_field) {
    if (PySlice_Check(part)) {
        Py_ssize_t start, stop, step;
        if (PySlice_Unpack(part, &start, &stop, &step) < 0) return GB_PY_KEY_ERROR;
        Py_ssize_t length = PySlice_AdjustIndices(n, &start, &stop, step);
        if (length == 0) start = 0, step = 1; /* as in NumPy */
        if (length == 1 && of_field) step = step < 0 ? -1 : 1;
        *c = (gb_py_cut){start, step, length, n, 1};
        return GB_PY_KEY_VIEW;
    }
    int beyond = 0;
    Py_ssize_t i = PyLong_CheckExact(part) ? PyLong_AsLongLongAndOverflow(part, &beyond)
                                           : PyNumber_AsSsize_t(part, NULL);
    if (i == -1 && !beyond && PyErr_Occurred()) {
        if (!PyMapping_Check(part) || !PyErr_ExceptionMatches(PyExc_TypeError))
            return GB_PY_KEY_ERROR;
        PyErr_Clear(); /* a tensor of several elements refuses to be an index, and is an array */
        return GB_PY_KEY_OTHER;
    }
    if (beyond) i = PY_SSIZE_T_MAX; /* out of bounds as well */
    *c = (gb_py_cut){i < 0 ? i + n : i, 1, 1, n, 0};
    if (i >= -n && i < n) return GB_PY_KEY_VIEW;
    if (!of_field) return GB_PY_KEY_OTHER;
    return PyErr_Format(PyExc_IndexError, "index %S is out of bounds for index %d with size %lld",
                        part, axis, (long long)n),
           GB_PY_KEY_ERROR;
}

/* Arrays, Fields and storages have an __index__, too. */
static int is_basic(PyObject *part) {
    if (PySlice_Check(part) || PyLong_CheckExact(part)) return 1;
    return PyIndex_Check(part) && !PySequence_Check(part) && !PyBool_Check(part) &&
           !PyArray_IsScalar(part, Bool);
}

/* All of the indices up to `to`; the first after them. */
static INLINED int whole(int axis, Py_ssize_t to, const int64_t *shape, gb_py_cut *cuts) {
    for (; axis < to; axis++) cuts[axis] = (gb_py_cut){0, 1, shape[axis], shape[axis], 1};
    return axis;
}

static int wrong(PyObject *type, const char *text, int of_field) {
    if (of_field) PyErr_SetString(type, text);
    return of_field ? GB_PY_KEY_ERROR : GB_PY_KEY_OTHER;
}

int gb_py_cuts(PyObject *key, int ndim, const int64_t *shape, gb_py_cut *cuts, int of_field) {
    if (PySlice_Check(key) && ndim > 0)
        return whole(1, ndim, shape, cuts),
               cut_by(key, shape[0], 0, &cuts[0], of_field); /* the commonest */
    int tuple = PyTuple_Check(key), axis = 0, ellipses = 0, elements = 1;
    Py_ssize_t n = tuple ? PyTuple_Size(key) : 1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *part = tuple ? PyTuple_GetItem(key, i) : key;
        if (part == Py_Ellipsis) {
            if (ellipses++)
                return wrong(PyExc_IndexError, "an index can have one ellipsis only", of_field);
            axis = whole(axis, ndim - (n - 1 - i), shape, cuts);
            continue;
        }
        if (!is_basic(part)) {
            if (part != Py_None) return GB_PY_KEY_OTHER;
            return wrong(PyExc_TypeError,
                         "index: None adds an index without a dimension, which a Field cannot "
                         "hold; use field.numpy()[...]",
                         of_field);
        }
        if (axis == ndim)
            return wrong(PyExc_IndexError, "index: it has more entries than there are indices",
                         of_field);
        int kind = cut_by(part, shape[axis], axis, &cuts[axis], of_field);
        if (kind != GB_PY_KEY_VIEW) return kind;
        elements &= !cuts[axis++].keep;
    }
    elements = elements && !ellipses && axis == ndim;
    whole(axis, ndim, shape, cuts);
    return elements ? GB_PY_KEY_ELEMENT : GB_PY_KEY_VIEW;
}
