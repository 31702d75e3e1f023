/* import_typestr.c: the dtype that an array interface describes. arrayinterface/ decides what a typestr says and which fields
 * an item has; here Python's objects are taken apart for it, and NumPy is asked for the dtype of what passed. */
#include "exchange.h"
#include "../core/args.h"
#include "../core/pending.h"

/* ---- the fields of a structured type: a list of our own, which nobody changes while NumPy reads it ---- */

static PyObject *own_fields(PyObject *fields, int depth, int64_t *bytes, gb_error *e);

static PyObject *own_text(PyObject *obj) { return PyUnicode_Check(obj) ? PyUnicode_FromObject(obj) : NULL; }

/* A name, or (title, name). */
static PyObject *own_name(PyObject *obj) {
    if (!PyTuple_Check(obj) || PyTuple_Size(obj) != 2) return own_text(obj);
    GB_PY_OWNED PyObject *title = own_text(PyTuple_GetItem(obj, 0)), *name = title ? own_text(PyTuple_GetItem(obj, 1)) : NULL;
    return name ? PyTuple_Pack(2, title, name) : NULL;
}

/* A typestr, or the fields of a type in a type; *bytes is the size of one. */
static PyObject *own_type(PyObject *obj, int depth, int64_t *bytes, gb_error *e) {
    Py_ssize_t n;
    gb_interface_item_type item;
    *bytes = 0;
    if (PyList_Check(obj)) return own_fields(obj, depth + 1, bytes, e);
    PyObject *text = own_text(obj);
    const char *s = text ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
    if (!s || gb_interface_typestr(s, (size_t)n, &item, e) < 0) Py_CLEAR(text);
    else *bytes = item.size;
    return text;
}

/* (name, type) or (name, type, shape), added to the bytes of the fields before it. */
static PyObject *own_field(PyObject *field, int depth, int64_t *bytes, gb_error *e) {
    int64_t shape[GB_MAXDIMS], size;
    int ndim = 0;
    Py_ssize_t n = PyTuple_Check(field) ? PyTuple_Size(field) : 0;
    if (n != 2 && n != 3) return NULL;
    GB_PY_OWNED PyObject *name = own_name(PyTuple_GetItem(field, 0)), *type = name ? own_type(PyTuple_GetItem(field, 1), depth, &size, e) : NULL;
    PyObject *sizes = n == 3 ? PyTuple_GetItem(field, 2) : NULL, *own = NULL;
    if (type && sizes) ndim = PyTuple_Check(sizes) || PyList_Check(sizes) ? gb_py_ints(sizes, "descr", shape, GB_MAXDIMS) : -1;
    if (type && ndim >= 0 && gb_interface_field(size, shape, ndim, bytes, e) == 0)
        own = sizes ? Py_BuildValue("(OON)", name, type, gb_py_ints_tuple(shape, ndim)) : PyTuple_Pack(2, name, type);
    return own;
}

/* NULL without an exception: it is no such list; e may say why. */
static PyObject *own_fields(PyObject *fields, int depth, int64_t *bytes, gb_error *e) {
    if (gb_interface_nested(depth, e) < 0) return NULL;
    GB_PY_OWNED PyObject *given = PyList_AsTuple(fields);
    PyObject *own = given ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; own && i < PyTuple_Size(given); i++)
        gb_py_append(&own, own_field(PyTuple_GetItem(given, i), depth, bytes, e));
    return own;
}

/* NumPy writes a descr for plain types too: one entry without a name, which says nothing more. */
static int names_fields(PyObject *fields) {
    if (!fields || !PyList_Check(fields) || PyList_Size(fields) == 0) return 0;
    GB_PY_HELD PyObject *first = PySequence_GetItem(fields, 0);   /* its own reference: the list is the producer's */
    if (!first) return PyErr_Clear(), 0;
    PyObject *name = PyTuple_Check(first) && PyTuple_Size(first) ? PyTuple_GetItem(first, 0) : NULL;
    return PyList_Size(fields) > 1 || !name || !PyUnicode_Check(name) || PyUnicode_CompareWithASCIIString(name, "") != 0;
}

/* ---- the reader ---- */

/* NumPy's dtype of what passed, which must be of that size: NumPy's own numbers end at 2^31. NULL without an exception: there is
 * none, or what was asked for its value said that the description is wrong. */
static PyArray_Descr *convert(PyObject *own, int64_t size) {
    PyArray_Descr *descr = NULL;
    if (own && PyArray_DescrConverter(own, &descr) && PyDataType_ELSIZE(descr) == size && !PyDataType_REFCHK(descr)) return descr;
    Py_CLEAR(descr);
    if (PyErr_Occurred()) (void)gb_py_forgive();
    return NULL;
}

static PyArray_Descr *read_fields(PyObject *fields, int64_t size, gb_error *e) {
    int64_t bytes = 0;
    GB_PY_OWNED PyObject *own = own_fields(fields, 0, &bytes, e);
    return !own || gb_interface_fields(bytes, size, e) < 0 ? convert(NULL, size) : convert(own, size);
}

PyArray_Descr *gb_py_read_typestr(PyObject *typestr, PyObject *fields, const char **wrong, gb_error *e) {
    PyArray_Descr *descr = NULL;
    gb_interface_item_type item = {0};
    Py_ssize_t n;
    e->message[0] = 0;
    *wrong = "typestr";
    GB_PY_OWNED PyObject *own = typestr ? own_text(typestr) : NULL;
    const char *s = own ? PyUnicode_AsUTF8AndSize(own, &n) : NULL;
    int sound = s && gb_interface_item(s, (size_t)n, &item, e) == 0;
    if (sound && item.kind == 'V' && names_fields(fields)) {
        *wrong = "descr";
        descr = read_fields(fields, item.size, e);
    } else {
        descr = convert(sound ? own : NULL, item.size);
    }
    if (descr || PyErr_Occurred()) *wrong = NULL;
    return descr;
}
