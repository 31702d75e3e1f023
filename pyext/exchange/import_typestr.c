/* import_typestr.c: the dtype that an array interface describes. arrayinterface/ decides what a
 * typestr says and gridbuf/wrapping.py which fields an item has; NumPy is asked for the dtype of
 * what passed. */
#include "exchange.h"
#include "../core/pending.h"
#include "../core/upcall.h"

/* Of a type of one's own, whose methods may be anything. */
static PyObject *own_text(PyObject *obj) {
    return PyUnicode_Check(obj) ? PyUnicode_FromObject(obj) : NULL;
}

/* NumPy's dtype of what passed, which must be of that size: NumPy's own numbers end at 2^31. NULL
 * without an exception: there is none, or what was asked for its value said that the description is
 * wrong. */
static PyArray_Descr *convert(PyObject *own, int64_t size) {
    PyArray_Descr *descr = NULL;
    if (own && PyArray_DescrConverter(own, &descr) && PyDataType_ELSIZE(descr) == size &&
        !PyDataType_REFCHK(descr))
        return descr;
    Py_CLEAR(descr);
    if (PyErr_Occurred()) (void)gb_py_forgive();
    return NULL;
}

/* As gridbuf.wrapping found: a dtype, or why there is none. */
static PyArray_Descr *read_fields(PyObject *told, gb_error *e) {
    if (told && PyArray_DescrCheck(told)) return (PyArray_Descr *)Py_NewRef(told);
    Py_ssize_t n;
    const char *why = told ? PyUnicode_AsUTF8AndSize(told, &n) : NULL;
    if (why) gb_refuse(e, GB_VALUE_ERROR, "%s", why);
    return convert(NULL, 0);
}

PyObject *gb_py_typestr_bytes(PyObject *self, PyObject *text) {
    gb_error e;
    gb_interface_item_type item;
    Py_ssize_t n;
    const char *s = PyUnicode_AsUTF8AndSize(text, &n);
    if (!s) return NULL;
    return gb_interface_typestr(s, (size_t)n, &item, &e) < 0 ? PyUnicode_FromFormat("%s", e.message)
                                                             : PyLong_FromLongLong(item.size);
}

PyArray_Descr *gb_py_read_typestr(PyObject *typestr, PyObject *fields, const char **wrong,
                                  gb_error *e) {
    PyArray_Descr *descr = NULL;
    gb_interface_item_type item = {0};
    Py_ssize_t n;
    e->message[0] = 0;
    *wrong = "typestr";
    GB_PY_OWNED PyObject *own = typestr ? own_text(typestr) : NULL;
    const char *s = own ? PyUnicode_AsUTF8AndSize(own, &n) : NULL;
    int sound = s && gb_interface_item(s, (size_t)n, &item, e) == 0;
    int named = sound && item.kind == 'V' && fields;
    GB_PY_HELD PyObject *told =
        named ? gb_py_upcall_to(GB_PY_UP_STRUCTURED, "(OL)", fields, (long long)item.size)
              : Py_NewRef(Py_None);
    if (told == Py_None) descr = convert(sound ? own : NULL, item.size);
    else *wrong = "descr", descr = read_fields(told, e);
    if (descr || PyErr_Occurred()) *wrong = NULL;
    return descr;
}
