/* import_interface.c: memory that an object describes in __array_interface__ (version 3).
 * NumPy believes most of such a dict; here all of it is checked. */
#include "wrap.h"

#include <string.h>

/* Where the elements begin, and what keeps them alive. */
typedef struct place {
    char *data;
    int readonly;
    int64_t room;      /* bytes from data to the end of a buffer; -1 for a bare address */
    int64_t before;    /* bytes of the buffer in front of data */
    PyObject *owner;   /* new reference */
} place;

static int wrong(PyObject *error, PyObject *obj, const char *key, const char *expected, PyObject *found) {
    PyErr_Format(error, "data: __array_interface__ of %R: %s is %R; expected %s", Py_TYPE(obj), key, found ? found : Py_None, expected);
    return -1;
}

static int check_version(PyObject *obj, PyObject *dict) {
    PyObject *version = PyDict_GetItemString(dict, "version"), *mask = PyDict_GetItemString(dict, "mask");
    int overflow = 0;
    if (!version || !PyLong_Check(version) || PyLong_AsLongAndOverflow(version, &overflow) != 3)
        return wrong(PyExc_ValueError, obj, "version", "3", version);
    return mask && mask != Py_None ? wrong(PyExc_ValueError, obj, "mask", "None: give the data without mask, or fill it", mask) : 0;
}

/* One byte order, one kind, one size: np.dtype would take much more. */
static int is_typestr(PyObject *text) {
    Py_ssize_t n;
    const char *s = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &n) : NULL;
    if (!s || n < 3 || n > 24 || !strchr("<>|=", s[0]) || !strchr("biufcmMSUVt", s[1])) return 0;
    for (Py_ssize_t i = 2; i < n; i++)
        if ((s[i] < '0' || s[i] > '9') && s[1] != 'm' && s[1] != 'M') return 0;
    return s[2] >= '0' && s[2] <= '9';
}

/* NumPy writes a descr for plain types too: one entry without a name, which says nothing more. */
static int names_fields(PyObject *fields) {
    if (!fields || !PyList_Check(fields) || PyList_Size(fields) == 0) return 0;
    PyObject *first = PyList_GetItem(fields, 0), *name = PyTuple_Check(first) && PyTuple_Size(first) ? PyTuple_GetItem(first, 0) : NULL;
    return PyList_Size(fields) > 1 || !name || !PyUnicode_Check(name) || PyUnicode_CompareWithASCIIString(name, "") != 0;
}

static PyArray_Descr *read_descr(PyObject *obj, PyObject *dict) {
    PyObject *typestr = PyDict_GetItemString(dict, "typestr"), *fields = PyDict_GetItemString(dict, "descr");
    PyArray_Descr *descr = NULL, *named = NULL;
    int ok = is_typestr(typestr) && PyArray_DescrConverter(typestr, &descr);
    if (!ok || !descr || PyDataType_ELSIZE(descr) <= 0) {
        PyErr_Clear();
        Py_XDECREF((PyObject *)descr);
        wrong(PyExc_ValueError, obj, "typestr", "a str such as '<f8'", typestr);
        return NULL;
    }
    if (descr->kind != 'V' || !names_fields(fields)) return descr;
    if (!PyArray_DescrConverter(fields, &named) || PyDataType_ELSIZE(named) != PyDataType_ELSIZE(descr)) {
        PyErr_Clear();
        Py_CLEAR(named);
        wrong(PyExc_ValueError, obj, "descr", "a list of fields that together have the size in typestr", fields);
    }
    Py_DECREF((PyObject *)descr);
    return named;
}

/* data as (address, read-only). */
static int read_address(PyObject *obj, PyObject *pair, place *p) {
    PyObject *address = PyTuple_Size(pair) == 2 ? PyTuple_GetItem(pair, 0) : NULL, *number = address ? PyNumber_Index(address) : NULL;
    if (number) p->data = PyLong_AsVoidPtr(number);
    Py_XDECREF(number);
    if (!number || PyErr_Occurred()) {
        PyErr_Clear();
        return wrong(PyExc_ValueError, obj, "data", "(address, read-only) with an address of this process, or a buffer", pair);
    }
    p->readonly = PyObject_IsTrue(PyTuple_GetItem(pair, 1));
    p->room = -1;
    p->owner = Py_NewRef(obj);
    return p->readonly < 0 ? -1 : 0;
}

/* data as a buffer, with an offset into it. */
static int read_buffer(PyObject *obj, PyObject *data, PyObject *dict, place *p) {
    PyObject *offset = PyDict_GetItemString(dict, "offset");
    int64_t start = 0;
    Py_buffer b;
    p->owner = PyMemoryView_FromObject(data);
    if (!p->owner || PyObject_GetBuffer(p->owner, &b, PyBUF_SIMPLE) < 0) {
        PyErr_Clear();
        return wrong(PyExc_ValueError, obj, "data", "(address, read-only), or a contiguous buffer", data);
    }
    p->data = b.buf;
    p->readonly = b.readonly;
    p->room = b.len;
    PyBuffer_Release(&b);   /* the memoryview keeps the memory in place */
    if (offset && offset != Py_None && gb_int64(offset, "offset", "an int", &start) < 0) return -1;
    if (start < 0 || start > p->room) return wrong(PyExc_ValueError, obj, "offset", "bytes within the buffer", offset);
    p->data += start;
    p->room -= start;
    p->before = start;
    return 0;
}

static int read_place(PyObject *obj, PyObject *dict, place *p) {
    PyObject *data = PyDict_GetItemString(dict, "data"), *offset = PyDict_GetItemString(dict, "offset");
    if (!data || data == Py_None) return wrong(PyExc_ValueError, obj, "data", "(address, read-only), or a buffer", data);
    if (!PyTuple_Check(data)) return read_buffer(obj, data, dict, p);
    if (!offset || offset == Py_None || (PyLong_Check(offset) && !PyObject_IsTrue(offset))) return read_address(obj, data, p);
    return wrong(PyExc_ValueError, obj, "offset", "0, for data is an address", offset);
}

/* Shape and strides, with C order filled in. Returns the number of indices or -1. */
static int read_layout(PyObject *obj, PyObject *dict, int64_t itemsize, int64_t *shape, int64_t *strides) {
    PyObject *sizes = PyDict_GetItemString(dict, "shape"), *steps = PyDict_GetItemString(dict, "strides");
    if (!sizes || !(PyTuple_Check(sizes) || PyList_Check(sizes))) return wrong(PyExc_ValueError, obj, "shape", "a tuple of ints", sizes);
    int n = gb_ints(sizes, "__array_interface__['shape']", shape, GB_MAXDIMS);
    if (n < 0) return -1;
    int64_t step = itemsize;
    for (int i = n - 1; i >= 0; i--) {
        if (shape[i] < 0) return wrong(PyExc_ValueError, obj, "shape", "sizes of 0 or more", sizes);
        strides[i] = step;
        if (__builtin_mul_overflow(step, shape[i] ? shape[i] : 1, &step)) return wrong(PyExc_ValueError, obj, "shape", "less than 2^63 bytes", sizes);
    }
    if (!steps || steps == Py_None) return n;
    int given = PyTuple_Check(steps) || PyList_Check(steps) ? gb_ints(steps, "__array_interface__['strides']", strides, GB_MAXDIMS) : -2;
    if (given == -1) return -1;
    return given == n ? n : wrong(PyExc_ValueError, obj, "strides", "None, or bytes for each index of shape", steps);
}

/* Every element lies in the address space, and in the buffer if there is one. */
static int check_reach(PyObject *obj, const place *p, int n, const int64_t *shape, const int64_t *strides, int64_t itemsize) {
    int64_t low = 0, high = itemsize, span;
    for (int i = 0; i < n; i++)
        if (shape[i] == 0) return 0;
    if (!p->data) return wrong(PyExc_ValueError, obj, "data", "an address that is not 0, for there are elements", NULL);
    for (int i = 0; i < n; i++) {
        int64_t *end = strides[i] < 0 ? &low : &high;
        if (__builtin_mul_overflow(shape[i] - 1, strides[i], &span) || __builtin_add_overflow(*end, span, end)) goto far;
    }
    if (p->room >= 0 ? low < -p->before || high > p->room : 0) goto far;
    if ((uintptr_t)p->data < -(uintptr_t)low || (uintptr_t)p->data + (uintptr_t)high < (uintptr_t)p->data) goto far;
    return 0;
far:
    PyErr_Format(PyExc_ValueError, "data: __array_interface__ of %R: its elements leave %s", Py_TYPE(obj),
                 p->room >= 0 ? "the buffer" : "the address space");
    return -1;
}

PyObject *gb_wrap_interface(PyTypeObject *type, PyObject *obj, PyObject *interface) {
    int64_t shape[GB_MAXDIMS], strides[GB_MAXDIMS];
    place p = {0};
    if (!PyDict_Check(interface)) {
        PyErr_Format(PyExc_TypeError, "data: __array_interface__ of %R is %R, not a dict", Py_TYPE(obj), interface);
        return NULL;
    }
    PyObject *dict = PyDict_Copy(interface);   /* an __index__ in it may change the original */
    if (!dict) return NULL;
    PyArray_Descr *descr = check_version(obj, dict) < 0 ? NULL : read_descr(obj, dict);
    PyObject *object = NULL;
    if (!descr) goto done;
    int64_t itemsize = PyDataType_ELSIZE(descr);
    int n = read_layout(obj, dict, itemsize, shape, strides);
    if (n >= 0 && read_place(obj, dict, &p) == 0 && check_reach(obj, &p, n, shape, strides, itemsize) == 0) {
        static char nowhere[16];   /* NumPy would allocate where there is no address */
        gb_foreign m = {.descr = descr, .ndim = n, .shape = shape, .strides = strides, .data = p.data ? p.data : nowhere,
                       .readonly = p.readonly, .owner = p.owner};
        object = gb_over_memory(type, &m);
    }
    Py_XDECREF(p.owner);
    Py_DECREF((PyObject *)descr);
done:
    Py_DECREF(dict);
    return object;
}
