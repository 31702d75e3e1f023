/* import_interface.c: memory that an object describes in __array_interface__ (version 3) or __array_struct__.
 * NumPy believes most of what they say; here all of it is checked, and read once. */
#include "attribute.h"
#include "pending.h"
#include "wrap.h"

#include <string.h>

/* The entries that are read, each a reference of our own: what is asked for its value may empty the dict. */
enum { VERSION, MASK, TYPESTR, DESCR, SHAPE, STRIDES, DATA, OFFSET, ENTRIES };
static const char *const keys[ENTRIES] = {"version", "mask", "typestr", "descr", "shape", "strides", "data", "offset"};

/* Memory as it was described, so far. */
typedef struct told {
    PyObject *obj;
    const char *door;
    PyArray_Descr *descr;   /* new reference */
    int ndim, readonly;
    int64_t shape[GB_MAXDIMS], strides[GB_MAXDIMS];
    char *data;             /* where the elements begin */
    int64_t room;           /* bytes from data to the end of a buffer; -1 for a bare address */
    int64_t before;         /* bytes of the buffer in front of data */
    PyObject *owner;        /* what keeps them alive; new reference */
} told;

static int wrong(const told *t, const char *key, const char *expected, PyObject *found) {
    PyErr_Format(PyExc_ValueError, "data: %s of %R: %s is %R; expected %s", t->door, Py_TYPE(t->obj), key, found ? found : Py_None, expected);
    return -1;
}

/* The same for an exception that asking for a value has raised. */
static int unreadable(const told *t, const char *key, const char *expected, PyObject *found) {
    return PyErr_Occurred() && !gb_forgive() ? -1 : wrong(t, key, expected, found);
}

/* ---- what both doors share ---- */

static int read_type(told *t, PyObject *typestr, PyObject *fields) {
    const char *key;
    if ((t->descr = gb_read_typestr(typestr, fields, &key))) return 0;
    if (!key) return -1;
    int named = strcmp(key, "descr") == 0;
    return wrong(t, key, named ? "a list of fields of plain memory that together have the size in typestr" : "a str such as '<f8'",
                 named ? fields : typestr);
}

/* C order. */
static int pack(told *t) {
    int64_t step = PyDataType_ELSIZE(t->descr);
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (t->shape[i] < 0) return PyErr_Format(PyExc_ValueError, "data: %s of %R: shape has a negative size", t->door, Py_TYPE(t->obj)), -1;
        t->strides[i] = step;
        if (__builtin_mul_overflow(step, t->shape[i] ? t->shape[i] : 1, &step)) {
            PyErr_Format(PyExc_ValueError, "data: %s of %R: shape and typestr are more than 2^63 bytes", t->door, Py_TYPE(t->obj));
            return -1;
        }
    }
    return 0;
}

/* Every element lies in the address space, and in the buffer if there is one. */
static int check_reach(const told *t) {
    int64_t low = 0, high = PyDataType_ELSIZE(t->descr), span;
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] == 0) return 0;
    if (!t->data) return wrong(t, "data", "an address that is not 0, for there are elements", NULL);
    for (int i = 0; i < t->ndim; i++) {
        int64_t *end = t->strides[i] < 0 ? &low : &high;
        if (__builtin_mul_overflow(t->shape[i] - 1, t->strides[i], &span) || __builtin_add_overflow(*end, span, end)) goto far;
    }
    if (t->room >= 0 ? low < -t->before || high > t->room : 0) goto far;
    if ((uintptr_t)t->data < -(uintptr_t)low || (uintptr_t)t->data + (uintptr_t)high < (uintptr_t)t->data) goto far;
    return 0;
far:
    PyErr_Format(PyExc_ValueError, "data: %s of %R: its elements leave %s", t->door, Py_TYPE(t->obj), t->room >= 0 ? "the buffer" : "the address space");
    return -1;
}

static PyObject *over(PyTypeObject *type, const told *t) {
    static char nowhere[16];   /* NumPy would allocate where there is no address */
    gb_foreign m = {.descr = t->descr, .ndim = t->ndim, .shape = t->shape, .strides = t->strides, .data = t->data ? t->data : nowhere,
                    .readonly = t->readonly, .owner = t->owner};
    return check_reach(t) < 0 ? NULL : gb_over_memory(type, &m);
}

static void forget(told *t) {
    gb_let_go(t->owner);
    gb_let_go((PyObject *)t->descr);
}

/* ---- __array_interface__ ---- */

static int check_version(const told *t, PyObject *version, PyObject *mask) {
    int overflow = 0;
    if (!version || !PyLong_Check(version) || PyLong_AsLongAndOverflow(version, &overflow) != 3) return wrong(t, "version", "3", version);
    return mask ? wrong(t, "mask", "None: give the data without mask, or fill it", mask) : 0;
}

static int read_layout(told *t, PyObject *sizes, PyObject *steps) {
    if (!sizes || !(PyTuple_Check(sizes) || PyList_Check(sizes))) return wrong(t, "shape", "a tuple of ints", sizes);
    t->ndim = gb_ints(sizes, "data: __array_interface__: shape", t->shape, GB_MAXDIMS);
    if (t->ndim < 0 || pack(t) < 0) return -1;
    if (!steps) return 0;
    int64_t given[GB_MAXDIMS];
    int n = PyTuple_Check(steps) || PyList_Check(steps) ? gb_ints(steps, "data: __array_interface__: strides", given, GB_MAXDIMS) : -2;
    if (n == -1) return -1;
    if (n != t->ndim) return wrong(t, "strides", "None, or bytes for each index of shape", steps);
    memcpy(t->strides, given, (size_t)n * sizeof *given);
    return 0;
}

/* data as (address, read-only). */
static int read_address(told *t, PyObject *pair) {
    static const char expected[] = "(address, read-only) with an address of this process, or a buffer";
    PyObject *number = PyTuple_Size(pair) == 2 ? PyNumber_Index(PyTuple_GetItem(pair, 0)) : NULL;
    if (number) t->data = PyLong_AsVoidPtr(number);
    Py_XDECREF(number);
    if (!number || PyErr_Occurred()) return unreadable(t, "data", expected, pair);
    t->readonly = PyObject_IsTrue(PyTuple_GetItem(pair, 1));
    t->room = -1;
    t->owner = Py_NewRef(t->obj);
    return t->readonly < 0 ? -1 : 0;
}

/* data as a buffer, with an offset into it. */
static int read_buffer(told *t, PyObject *data, PyObject *offset) {
    int64_t start = 0;
    Py_buffer b;
    if (offset && gb_int64(offset, "data: __array_interface__: offset", "an int", &start) < 0) return -1;
    t->owner = PyMemoryView_FromObject(data);
    if (!t->owner || PyObject_GetBuffer(t->owner, &b, PyBUF_SIMPLE) < 0)
        return unreadable(t, "data", "(address, read-only), or a contiguous buffer", data);
    t->data = b.buf;
    t->readonly = b.readonly;
    t->room = b.len;
    PyBuffer_Release(&b);   /* the memoryview keeps the memory in place */
    if (start < 0 || start > t->room) return wrong(t, "offset", "bytes within the buffer", offset);
    t->data += start;
    t->room -= start;
    t->before = start;
    return 0;
}

static int read_place(told *t, PyObject *data, PyObject *offset) {
    if (!data) return wrong(t, "data", "(address, read-only), or a buffer", data);
    if (!PyTuple_Check(data)) return read_buffer(t, data, offset);
    int64_t start = 0;
    if (offset && PyLong_Check(offset) && gb_int64(offset, "data: __array_interface__: offset", "an int", &start) < 0) return -1;
    if (offset && (!PyLong_Check(offset) || start)) return wrong(t, "offset", "0, for data is an address", offset);
    return read_address(t, data);
}

/* None counts as not there. */
static int read_entries(PyObject *dict, PyObject **entries) {
    static PyObject *interned[ENTRIES];
    for (int i = 0; i < ENTRIES; i++) {
        if (!interned[i] && !(interned[i] = PyUnicode_InternFromString(keys[i]))) return -1;
        PyObject *value = PyDict_GetItemWithError(dict, interned[i]);
        entries[i] = value && value != Py_None ? Py_NewRef(value) : NULL;
        if (!value && PyErr_Occurred()) return -1;
    }
    return 0;
}

PyObject *gb_wrap_interface(PyTypeObject *type, PyObject *obj, PyObject *interface) {
    told t = {.obj = obj, .door = "__array_interface__"};
    PyObject *e[ENTRIES] = {NULL}, *object = NULL;
    if (!PyDict_Check(interface))
        return PyErr_Format(PyExc_TypeError, "data: __array_interface__ of %R is %R, not a dict", Py_TYPE(obj), interface);
    PyObject *dict = PyDict_Copy(interface);   /* a key's own __eq__ may change the original */
    if (dict && read_entries(dict, e) == 0 && check_version(&t, e[VERSION], e[MASK]) == 0 && read_type(&t, e[TYPESTR], e[DESCR]) == 0 &&
        read_layout(&t, e[SHAPE], e[STRIDES]) == 0 && read_place(&t, e[DATA], e[OFFSET]) == 0)
        object = over(type, &t);
    for (int i = 0; i < ENTRIES; i++) gb_let_go(e[i]);
    gb_let_go(dict);
    forget(&t);
    return object;
}

/* ---- __array_struct__ ---- */

/* The kind and size as a typestr; sizes are in bytes, also of text. */
static PyObject *struct_typestr(char kind, int itemsize, int swapped) {
    int size = kind == 'U' ? itemsize / 4 : itemsize;
    if (kind <= ' ' || kind > '~' || itemsize <= 0 || (kind == 'U' && itemsize % 4)) return PyUnicode_FromString("");
    char order = itemsize == 1 ? '|' : (NPY_BYTE_ORDER == NPY_LITTLE_ENDIAN) == !swapped ? '<' : '>';
    return PyUnicode_FromFormat("%c%c%d", order, kind, size);
}

/* All of the struct is copied before anything in it is asked for its value. */
static int read_struct(told *t, PyObject *capsule) {
    const PyArrayInterface *s = PyCapsule_GetPointer(capsule, NULL);
    if (s->nd < 0 || s->nd > GB_MAXDIMS || (s->nd && !s->shape))
        return PyErr_Format(PyExc_ValueError, "data: __array_struct__ of %R: nd is %d; expected 0 to %d, and a shape", Py_TYPE(t->obj), s->nd, GB_MAXDIMS), -1;
    int64_t strides[GB_MAXDIMS];
    int has_strides = s->strides != NULL, itemsize = s->itemsize;
    PyObject *fields = s->flags & NPY_ARR_HAS_DESCR ? Py_XNewRef(s->descr) : NULL;
    PyObject *typestr = struct_typestr(s->typekind, itemsize, !(s->flags & NPY_ARRAY_NOTSWAPPED));
    t->ndim = s->nd;
    t->data = s->data;
    t->readonly = !(s->flags & NPY_ARRAY_WRITEABLE);
    t->room = -1;
    for (int i = 0; i < t->ndim; i++) {
        t->shape[i] = s->shape[i];
        strides[i] = has_strides ? s->strides[i] : 0;
    }
    int rc = typestr ? read_type(t, typestr, fields) : -1;
    Py_XDECREF(typestr);
    gb_let_go(fields);
    if (rc < 0 || pack(t) < 0) return -1;
    if (has_strides) memcpy(t->strides, strides, (size_t)t->ndim * sizeof *strides);
    t->owner = PyTuple_Pack(2, t->obj, capsule);
    return t->owner ? 0 : -1;
}

PyObject *gb_wrap_struct(PyTypeObject *type, PyObject *obj, PyObject *capsule) {
    told t = {.obj = obj, .door = "__array_struct__"};
    const PyArrayInterface *s = PyCapsule_IsValid(capsule, NULL) ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    if (!s || s->two != 2) return Py_NewRef(Py_NotImplemented);
    PyObject *object = read_struct(&t, capsule) < 0 ? NULL : over(type, &t);
    forget(&t);
    return object;
}
