/* import_typestr.c: the dtype that an array interface describes, read by one reader for every door: as strictly as the
 * interface defines it. np.dtype would take much more: Python objects over foreign bytes, names that describe no array,
 * and "<M8[s/0]", which divides by zero. arrayinterface/ is the same reader for Go. */
#include "args.h"
#include "pending.h"
#include "wrap.h"

#include <string.h>

#define DEEPEST 16   /* structured types in one another */

/* A whole multiple without leading zeros, of at most n digits; 0 when there is none. */
static size_t number(const char *s, size_t n) {
    size_t digits = strspn(s, "0123456789");
    return digits > n || (digits > 1 && s[0] == '0') ? 0 : digits;
}

/* What follows the size of a time: nothing, or "[25s]". */
static int is_unit(const char *s) {
    static const char *const units[] = {"Y]", "M]", "W]", "D]", "h]", "m]", "s]", "ms]", "us]", "ns]", "ps]", "fs]", "as]"};
    if (!*s) return 1;
    if (*s++ != '[' || *s == '0') return 0;
    s += number(s, 9);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(s, units[i]) == 0) return 1;
    return 0;
}

/* A byte order, a kind, a size, and the unit of a time. */
static int is_typestr(PyObject *text) {
    Py_ssize_t n;
    const char *s = PyUnicode_AsUTF8AndSize(text, &n);
    if (!s || (size_t)n != strlen(s) || n < 3 || !strchr("<>|", s[0]) || !strchr("biufcmMSUV", s[1])) return 0;
    size_t digits = number(s + 2, 10);
    if (!digits) return 0;
    if (s[0] == '|' && strchr("biufcmM", s[1]) && strcmp(s + 2, "1") != 0) return 0;   /* several bytes have an order */
    return s[1] == 'm' || s[1] == 'M' ? is_unit(s + 2 + digits) : s[2 + digits] == 0;
}

/* ---- the fields of a structured type: a list of our own, which nobody changes while NumPy reads it ---- */

static PyObject *own_fields(PyObject *fields, int depth);

static PyObject *own_text(PyObject *obj) { return PyUnicode_Check(obj) ? PyUnicode_FromObject(obj) : NULL; }

/* A name, or (title, name). */
static PyObject *own_name(PyObject *obj) {
    if (!PyTuple_Check(obj) || PyTuple_Size(obj) != 2) return own_text(obj);
    PyObject *title = own_text(PyTuple_GetItem(obj, 0)), *name = title ? own_text(PyTuple_GetItem(obj, 1)) : NULL;
    PyObject *both = name ? PyTuple_Pack(2, title, name) : NULL;
    Py_XDECREF(title);
    Py_XDECREF(name);
    return both;
}

static PyObject *own_type(PyObject *obj, int depth) {
    if (PyList_Check(obj)) return own_fields(obj, depth + 1);
    PyObject *text = own_text(obj);
    if (text && !is_typestr(text)) Py_CLEAR(text);
    return text;
}

static PyObject *own_shape(PyObject *obj) {
    int64_t shape[GB_MAXDIMS];
    int n = PyTuple_Check(obj) || PyList_Check(obj) ? gb_ints(obj, "descr", shape, GB_MAXDIMS) : -1;
    for (int i = 0; i < n; i++)
        if (shape[i] < 0) return NULL;
    return n < 0 ? NULL : gb_ints_tuple(shape, n);
}

/* (name, type) or (name, type, shape) */
static PyObject *own_field(PyObject *field, int depth) {
    Py_ssize_t n = PyTuple_Check(field) ? PyTuple_Size(field) : 0;
    if (n != 2 && n != 3) return NULL;
    PyObject *name = own_name(PyTuple_GetItem(field, 0)), *type = name ? own_type(PyTuple_GetItem(field, 1), depth) : NULL;
    PyObject *shape = type && n == 3 ? own_shape(PyTuple_GetItem(field, 2)) : NULL, *own = NULL;
    if (type && n == 2) own = PyTuple_Pack(2, name, type);
    else if (shape) own = PyTuple_Pack(3, name, type, shape);
    Py_XDECREF(name);
    Py_XDECREF(type);
    Py_XDECREF(shape);
    return own;
}

/* NULL without an exception: it is no such list. */
static PyObject *own_fields(PyObject *fields, int depth) {
    if (depth >= DEEPEST) return NULL;
    PyObject *given = PyList_AsTuple(fields), *own = given ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; own && i < PyTuple_Size(given); i++) {
        PyObject *field = own_field(PyTuple_GetItem(given, i), depth);
        if (!field || PyList_Append(own, field) < 0) Py_CLEAR(own);
        Py_XDECREF(field);
    }
    Py_XDECREF(given);
    return own;
}

/* NumPy writes a descr for plain types too: one entry without a name, which says nothing more. */
static int names_fields(PyObject *fields) {
    if (!fields || !PyList_Check(fields) || PyList_Size(fields) == 0) return 0;
    PyObject *first = PyList_GetItem(fields, 0), *name = PyTuple_Check(first) && PyTuple_Size(first) ? PyTuple_GetItem(first, 0) : NULL;
    return PyList_Size(fields) > 1 || !name || !PyUnicode_Check(name) || PyUnicode_CompareWithASCIIString(name, "") != 0;
}

/* ---- the reader ---- */

/* 1, or 0: the description is wrong, or -1 with an exception that is about something else. */
static int convert(PyObject *own, PyArray_Descr **descr) {
    *descr = NULL;
    if (own && PyArray_DescrConverter(own, descr) && PyDataType_ELSIZE(*descr) > 0 && !PyDataType_REFCHK(*descr)) return 1;
    Py_CLEAR(*descr);
    return PyErr_Occurred() && !gb_forgive() ? -1 : 0;
}

PyArray_Descr *gb_read_typestr(PyObject *typestr, PyObject *fields, const char **wrong) {
    PyArray_Descr *descr, *named;
    PyObject *own = typestr ? own_type(typestr, DEEPEST) : NULL;
    int ok = convert(own, &descr);
    Py_XDECREF(own);
    *wrong = ok == 0 ? "typestr" : NULL;
    if (ok <= 0 || descr->kind != 'V' || !names_fields(fields)) return descr;
    own = own_fields(fields, 0);
    ok = convert(own, &named);
    Py_XDECREF(own);
    if (ok > 0 && PyDataType_ELSIZE(named) != PyDataType_ELSIZE(descr)) Py_CLEAR(named);
    Py_DECREF((PyObject *)descr);
    *wrong = named || ok < 0 ? NULL : "descr";
    return named;
}

/* read_typestr(typestr, descr or None) -> dtype, or the key whose value is wrong */
PyObject *gb_read_typestr_py(PyObject *self, PyObject *args) {
    PyObject *typestr, *fields;
    const char *wrong;
    if (!PyArg_ParseTuple(args, "OO:read_typestr", &typestr, &fields)) return NULL;
    PyArray_Descr *descr = gb_read_typestr(typestr, fields, &wrong);
    return descr || !wrong ? (PyObject *)descr : PyUnicode_FromString(wrong);
}
