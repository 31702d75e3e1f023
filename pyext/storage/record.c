/* record.c: the record of a Storage: construction, release, and its most used attributes. */
#include "storage.h"

PyTypeObject *gb_py_StorageType, *gb_py_last_storage_type;

PyObject *gb_py_storage_new(PyTypeObject *type, PyObject *host, PyObject *dev, PyObject *meta,
                            PyObject *pair) {
    gb_py_storage *s = (gb_py_storage *)PyType_GenericAlloc(type, 0);
    if (!s) return NULL;
    if (gb_py_last_storage_type != type) {
        PyTypeObject *before = gb_py_last_storage_type;
        gb_py_last_storage_type = (PyTypeObject *)Py_NewRef((PyObject *)type);
        Py_XDECREF((PyObject *)before);
    }
    s->host = Py_NewRef(host);
    s->dev = Py_NewRef(dev);
    s->meta = Py_NewRef(meta);
    s->pair = Py_NewRef(pair);
    return (PyObject *)s;
}

/* NumPy's own dtype of a number. Others equal one that has other metadata, or another C type of the
 * same size. */
int gb_py_is_own_dtype(PyArray_Descr *descr) {
    int number = descr->type_num;
    if (number < 0 || number >= NPY_OBJECT || number == NPY_LONGLONG || number == NPY_ULONGLONG)
        return 0;
    GB_PY_OWNED PyArray_Descr *own = PyArray_DescrFromType(number);
    return own == descr;
}

/* Constants, equal for ever: exact ints and strs, None, NumPy's types and dtypes, and tuples
 * of those. Lists become tuples and integers of NumPy's own classes ints: no Python code runs,
 * which could change a dict that is read. NULL without an error: something else. */
static PyObject *constant(PyObject *obj, int depth) {
    if (PyLong_CheckExact(obj) || PyUnicode_CheckExact(obj) || obj == Py_None)
        return Py_NewRef(obj);
    if (PyArray_DescrCheck(obj))
        return gb_py_is_own_dtype((PyArray_Descr *)obj) ? Py_NewRef(obj) : NULL;
    if (PyType_Check(obj)) return gb_py_dtype_constant(obj) ? Py_NewRef(obj) : NULL;
    if (PyArray_IsScalar(obj, Integer) && !PyArray_IsScalar(obj, Timedelta) &&
        gb_py_dtype_constant((PyObject *)Py_TYPE(obj)))
        return PyNumber_Index(obj);
    if (depth == 0 || !(PyTuple_CheckExact(obj) || PyList_CheckExact(obj))) return NULL;
    GB_PY_OWNED PyObject *given = PySequence_Tuple(obj);
    PyObject *made = given ? PyTuple_New(PyTuple_Size(given)) : NULL;
    for (Py_ssize_t i = 0; made && i < PyTuple_Size(given); i++)
        gb_py_put(&made, i, constant(PyTuple_GetItem(given, i), depth - 1));
    return made;
}

/* constant(obj): the object as a key of what is remembered, or None. */
PyObject *gb_py_constant(PyObject *self, PyObject *obj) {
    PyObject *found = constant(obj, 5);
    return found || PyErr_Occurred() ? found : Py_NewRef(Py_None);
}

PyArrayObject *gb_py_storage_host(PyObject *obj) {
    gb_py_storage *s =
        (gb_py_storage *)obj; /* without a meta the garbage collector has been here */
    if (!s->host || !PyArray_CheckExact(s->host) || s->dev != Py_None || s->pair != Py_None ||
        !s->meta)
        return NULL;
    return PyArray_NDIM((PyArrayObject *)s->host) <= GB_PY_STORAGE_AXES ? (PyArrayObject *)s->host
                                                                        : NULL;
}

PyArrayObject *gb_py_plain_storage(PyObject *obj) {
    PyObject *plain = gb_py_is_storage(obj) ? gb_py_upcall_get(GB_PY_UP_CPU_STORAGE) : NULL;
    return plain && Py_TYPE(obj) == (PyTypeObject *)plain ? gb_py_storage_host(obj) : NULL;
}

int gb_py_meta_axes(PyObject *meta, char axes[GB_PY_STORAGE_AXES + 1]) {
    Py_ssize_t n = 0;
    GB_PY_OWNED PyObject *text = gb_py_upcall_of(meta, GB_PY_OF_META_AXES);
    const char *letters = text ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
    if (letters && n <= GB_PY_STORAGE_AXES) memcpy(axes, letters, (size_t)n + 1);
    else if (letters) PyErr_Format(PyExc_ValueError, "axes: %R has more than three letters", text);
    return letters && n <= GB_PY_STORAGE_AXES ? 0 : -1;
}
