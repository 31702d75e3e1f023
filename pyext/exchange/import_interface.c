/* import_interface.c: memory described by __array_interface__, __cuda_array_interface__ or
 * __array_struct__. Entries are read once and made plain data, which arrayinterface/
 * checks. gridbuf/wrapping.py reads the fields of structured types, and
 * NumPy makes the dtype. */
#define _GNU_SOURCE
#include "exchange.h"
#include "../core/attribute.h"
#include "../core/references.h"
#include "../core/upcall.h"
#include "../../arrayinterface/interface.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* Exact str of a str subclass, whose methods may be overridden. */
static PyObject *own_text(PyObject *obj) {
    return PyUnicode_Check(obj) ? PyUnicode_FromObject(obj) : NULL;
}

/* NumPy's dtype of a checked typestr, which must have that size: NumPy's own sizes end at 2^31.
 * NULL without an exception: there is none, or the error said that the description is wrong. */
static PyArray_Descr *convert(PyObject *own, int64_t size) {
    PyArray_Descr *descr = NULL;
    if (own && PyArray_DescrConverter(own, &descr) && PyDataType_ELSIZE(descr) == size &&
        !PyDataType_REFCHK(descr))
        return descr;
    Py_CLEAR(descr);
    if (PyErr_Occurred()) (void)gb_py_clear_description_error();
    return NULL;
}

/* Read the answer of gridbuf.wrapping: a dtype, or a str with the reason. */
static PyArray_Descr *read_fields(PyObject *answer, gb_error *e) {
    if (answer && PyArray_DescrCheck(answer)) return (PyArray_Descr *)Py_NewRef(answer);
    Py_ssize_t n;
    const char *why = answer ? PyUnicode_AsUTF8AndSize(answer, &n) : NULL;
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

static PyArray_Descr *read_typestr(PyObject *typestr, PyObject *fields, const char **wrong,
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
    GB_PY_HELD PyObject *answer =
        named ? gb_py_upcall_to(GB_PY_UP_STRUCTURED, "(OL)", fields, (long long)item.size)
              : Py_NewRef(Py_None);
    if (answer == Py_None) descr = convert(sound ? own : NULL, item.size);
    else {
        *wrong = "descr";
        descr = read_fields(answer, e);
    }
    if (descr || PyErr_Occurred()) *wrong = NULL;
    return descr;
}

/* ---- reading ---- */

#define HOST "data: __array_interface__"
#define CUDA "data: __cuda_array_interface__"

/* Entries of the dict, each with a reference: converting a value may empty the dict. */
enum { VERSION, MASK, TYPESTR, DESCR, SHAPE, STRIDES, DATA, OFFSET, STREAM, ENTRIES };
static const char *const keys[ENTRIES] = {"version", "mask", "typestr", "descr", "shape",
                                          "strides", "data", "offset",  "stream"};

/* Raise that a value is no plain data. */
static int wrong(const gb_py_described *t, const char *key, const char *expected, PyObject *found) {
    return gb_py_fail(t->mistyped ? t->mistyped : PyExc_ValueError,
                      "%s of %R: %s is %R; expected %s", t->door, Py_TYPE(t->obj), key,
                      found ? found : Py_None, expected);
}

/* The same, in place of a pending exception about the value. */
static int unreadable(const gb_py_described *t, const char *key, const char *expected,
                      PyObject *found) {
    return PyErr_Occurred() && !gb_py_clear_description_error() ? -1
                                                                : wrong(t, key, expected, found);
}

/* Raise that plain data describe no valid memory. */
static int refused(const gb_py_described *t, const gb_error *e) {
    return gb_py_fail(PyExc_ValueError, "%s of %R: %s", t->door, Py_TYPE(t->obj), e->message);
}

/* ---- entries ---- */

static int read_type(gb_py_described *t, PyObject *typestr, PyObject *fields) {
    gb_error e;
    const char *key;
    if ((t->descr = read_typestr(typestr, fields, &key, &e))) {
        t->memory.itemsize = PyDataType_ELSIZE(t->descr);
        return 0;
    }
    if (!key) return -1;
    int named = strcmp(key, "descr") == 0;
    if (e.message[0] && !named) return refused(t, &e);
    if (!e.message[0])
        return wrong(t, key,
                     named ? "a list of fields of plain memory, each with a name of its own"
                           : "a str such as '<f8'",
                     named ? fields : typestr);
    return gb_py_fail(PyExc_ValueError, "%s of %R: descr is %R: %s", t->door, Py_TYPE(t->obj),
                      fields, e.message);
}

static int check(gb_py_described *t) {
    gb_error e;
    return gb_interface_memory(&t->memory, &e) < 0 ? refused(t, &e) : 0;
}

static PyObject *over(PyTypeObject *type, const gb_py_described *t) {
    static char nowhere[16]; /* NumPy would allocate where there is no address */
    const gb_interface *d = &t->memory;
    gb_py_imported m = {.descr = t->descr,
                        .ndim = d->ndim,
                        .shape = d->shape,
                        .strides = d->strides,
                        .readonly = t->readonly,
                        .owner = t->owner,
                        .data = d->data ? (char *)(uintptr_t)d->data : nowhere};
    return gb_py_from_memory(type, &m);
}

void gb_py_described_clear(gb_py_described *t) {
    gb_py_decref_foreign(t->owner);
    gb_py_decref_foreign((PyObject *)t->descr);
}

/* ---- the dicts ---- */

static int read_number(const gb_py_described *t, int key, PyObject *value, int64_t *number) {
    char name[64];
    snprintf(name, sizeof name, "%s: %s", t->door, keys[key]);
    return gb_py_int64(value, name, "an int", number);
}

/* Read at most GB_MAXDIMS numbers: their count, or -1. */
static int read_numbers(const gb_py_described *t, int key, const char *expected, PyObject *values,
                        int64_t *numbers) {
    char name[64];
    if (!values || !(PyTuple_Check(values) || PyList_Check(values)))
        return wrong(t, keys[key], expected, values);
    snprintf(name, sizeof name, "%s: %s", t->door, keys[key]);
    return gb_py_ints(values, name, numbers, GB_MAXDIMS);
}

static int read_version(const gb_py_described *t, int cuda, PyObject *value) {
    int overflow = 0;
    gb_error e;
    int64_t version =
        value && PyLong_Check(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : -1;
    if (!value || !PyLong_Check(value) || overflow)
        return wrong(t, "version", cuda ? "0 to 3" : "3", value);
    return (cuda ? gb_interface_cuda_version : gb_interface_version)(version, &e) < 0
               ? refused(t, &e)
               : 0;
}

static int read_layout(gb_py_described *t, PyObject *sizes, PyObject *steps) {
    gb_interface *d = &t->memory;
    if ((d->ndim = read_numbers(t, SHAPE, "a tuple of ints", sizes, d->shape)) < 0) return -1;
    d->nstrides = -1;
    return !steps ||
                   (d->nstrides = read_numbers(t, STRIDES, "None, or bytes for each index of shape",
                                               steps, d->strides)) >= 0
               ? 0
               : -1;
}

/* data as (address, read-only). */
static int read_address(gb_py_described *t, PyObject *pair, const char *expected) {
    GB_PY_OWNED PyObject *number = pair && PyTuple_Check(pair) && PyTuple_Size(pair) == 2
                                       ? PyNumber_Index(PyTuple_GetItem(pair, 0))
                                       : NULL;
    if (number) t->memory.data = PyLong_AsUnsignedLongLong(number);
    if (!number || PyErr_Occurred()) return unreadable(t, "data", expected, pair);
    t->memory.length = -1;
    t->owner = Py_NewRef(t->obj);
    t->readonly = PyObject_IsTrue(PyTuple_GetItem(pair, 1));
    return t->readonly < 0 ? -1 : 0;
}

/* data as a buffer. */
static int read_buffer(gb_py_described *t, PyObject *data) {
    Py_buffer b;
    t->owner = data ? PyMemoryView_FromObject(data) : NULL;
    if (!t->owner || PyObject_GetBuffer(t->owner, &b, PyBUF_SIMPLE) < 0)
        return unreadable(t, "data", "(address, read-only), or a contiguous buffer", data);
    t->memory.data = (uintptr_t)b.buf;
    t->memory.length = b.len;
    t->readonly = b.readonly;
    PyBuffer_Release(&b); /* the memoryview keeps the memory in place */
    return 0;
}

static int read_host_data(gb_py_described *t, PyObject *data, PyObject *offset) {
    if (offset && read_number(t, OFFSET, offset, &t->memory.offset) < 0) return -1;
    return data && PyTuple_Check(data)
               ? read_address(t, data,
                              "(address, read-only) with an address of this process, or a buffer")
               : read_buffer(t, data);
}

static int read_stream(gb_py_described *t, PyObject *stream) {
    gb_error e;
    if (!stream) return 0;
    if (!PyLong_Check(stream) || PyBool_Check(stream))
        return wrong(t, "stream", "None, 1, 2 or a stream's handle", stream);
    if (read_number(t, STREAM, stream, &t->stream) < 0) return -1;
    return gb_interface_cuda_stream(t->stream, &e) < 0 ? refused(t, &e) : 0;
}

/* An array without elements has no address. */
static void forget_address_of_nothing(gb_interface *d) {
    for (int i = 0; i < d->ndim; i++)
        if (d->shape[i] == 0) d->data = 0;
}

static int read_values(gb_py_described *t, int cuda, PyObject **e) {
    t->memory.mask = e[MASK] != NULL;
    if (read_version(t, cuda, e[VERSION]) < 0 || read_type(t, e[TYPESTR], e[DESCR]) < 0 ||
        read_layout(t, e[SHAPE], e[STRIDES]) < 0)
        return -1;
    if (!cuda) return read_host_data(t, e[DATA], e[OFFSET]) < 0 ? -1 : check(t);
    if (read_address(t, e[DATA], "(address, read-only)") < 0 || read_stream(t, e[STREAM]) < 0 ||
        check(t) < 0)
        return -1;
    forget_address_of_nothing(&t->memory);
    return 0;
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

static int read_dict(gb_py_described *t, int cuda, PyObject *interface) {
    PyObject *e[ENTRIES] = {NULL};
    if (!PyDict_Check(interface))
        return gb_py_fail(PyExc_TypeError, "%s of %R is %R, not a dict", t->door, Py_TYPE(t->obj),
                          interface);
    GB_PY_HELD PyObject *dict =
        PyDict_Copy(interface); /* a key's own __eq__ may change the original */
    int rc = dict && read_entries(dict, e) == 0 ? read_values(t, cuda, e) : -1;
    for (int i = 0; i < ENTRIES; i++) gb_py_decref_foreign(e[i]);
    return rc;
}

int gb_py_read_cuda_interface(gb_py_described *t, PyObject *obj, PyObject *interface) {
    t->obj = obj;
    t->door = CUDA;
    return read_dict(t, 1, interface);
}

/* described_memory(obj, its attribute, shape, typestr, data, strides), wherever it lies: (shape,
 * (address, read-only), strides, dtype). */
PyObject *gb_py_described_memory(PyObject *self, PyObject *args) {
    PyObject *shape, *typestr, *data, *strides;
    gb_py_described t = {.mistyped = PyExc_TypeError};
    const gb_interface *d = &t.memory;
    if (!PyArg_ParseTuple(args, "OsOOOO:described_memory", &t.obj, &t.door, &shape, &typestr, &data,
                          &strides))
        return NULL;
    int sound = read_type(&t, typestr, NULL) == 0 &&
                read_layout(&t, shape, strides == Py_None ? NULL : strides) == 0 &&
                read_address(&t, data, "(address, read-only)") == 0 && check(&t) == 0;
    PyObject *description =
        sound ? Py_BuildValue("(N(KO)NO)", gb_py_ints_tuple(d->shape, d->ndim),
                              (unsigned long long)d->data, t.readonly ? Py_True : Py_False,
                              gb_py_ints_tuple(d->strides, d->ndim), (PyObject *)t.descr)
              : NULL;
    gb_py_described_clear(&t);
    return description;
}

PyObject *gb_py_wrap_interface(PyTypeObject *type, PyObject *obj, PyObject *interface,
                               int request) {
    gb_py_described t = {.obj = obj, .door = HOST};
    PyObject *object = read_dict(&t, 0, interface) < 0 ? NULL : over(type, &t);
    gb_py_described_clear(&t);
    return object;
}

/* ---- __array_struct__ ---- */

/* The kind and size as a typestr; sizes are in bytes, also of text. */
static PyObject *struct_typestr(char kind, int itemsize, int swapped) {
    char order = (NPY_BYTE_ORDER == NPY_LITTLE_ENDIAN) == !swapped ? '<' : '>';
    if (itemsize == 1) order = '|';
    if (kind <= ' ' || kind > '~') kind = '?';
    return kind == 'U' && itemsize % 4
               ? PyUnicode_FromFormat("%cU%d/4", order, itemsize)
               : PyUnicode_FromFormat("%c%c%d", order, kind, kind == 'U' ? itemsize / 4 : itemsize);
}

/* Copy the whole struct before converting a value, which may run Python code. */
static int read_struct(gb_py_described *t, PyObject *capsule) {
    gb_interface *d = &t->memory;
    const PyArrayInterface *s = PyCapsule_GetPointer(capsule, NULL);
    if (s->nd < 0 || s->nd > GB_MAXDIMS || (s->nd && !s->shape))
        return gb_py_fail(PyExc_ValueError,
                          "data: __array_struct__ of %R: nd is %d; expected 0 to %d, and a shape",
                          Py_TYPE(t->obj), s->nd, GB_MAXDIMS);
    d->ndim = s->nd;
    d->nstrides = s->strides ? s->nd : -1;
    for (int i = 0; i < s->nd; i++) {
        d->shape[i] = s->shape[i];
        if (s->strides) d->strides[i] = s->strides[i];
    }
    d->data = (uintptr_t)s->data;
    d->length = -1;
    t->readonly = !(s->flags & NPY_ARRAY_WRITEABLE);
    GB_PY_HELD PyObject *fields = s->flags & NPY_ARR_HAS_DESCR ? Py_XNewRef(s->descr) : NULL;
    GB_PY_OWNED PyObject *typestr =
        struct_typestr(s->typekind, s->itemsize, !(s->flags & NPY_ARRAY_NOTSWAPPED));
    int rc = typestr && read_type(t, typestr, fields) == 0 ? check(t) : -1;
    if (rc == 0) t->owner = PyTuple_Pack(2, t->obj, capsule);
    return t->owner ? 0 : -1;
}

PyObject *gb_py_wrap_struct(PyTypeObject *type, PyObject *obj, PyObject *capsule, int request) {
    gb_py_described t = {.obj = obj, .door = "data: __array_struct__"};
    const PyArrayInterface *s =
        PyCapsule_IsValid(capsule, NULL) ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    if (!s || s->two != 2) return Py_NewRef(Py_NotImplemented);
    PyObject *object = read_struct(&t, capsule) < 0 ? NULL : over(type, &t);
    gb_py_described_clear(&t);
    return object;
}

/* ---- mapped pages ---- */

/* Whether a page is mapped; yes where the system cannot tell, as in a sandbox. */
static int page_is_mapped(uint64_t address, uint64_t page) {
    unsigned char resident;
    return mincore((void *)(uintptr_t)(address - address % page), page, &resident) == 0 ||
           errno != ENOMEM;
}

/* is_mapped(address, nbytes): the pages of the first and of the last byte; those between are the
 * caller's word. */
PyObject *gb_py_is_mapped(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError,
                            "is_mapped() takes address and nbytes, got %zd arguments", nargs);
    unsigned long long first = PyLong_AsUnsignedLongLong(args[0]),
                       n = PyErr_Occurred() ? 0 : PyLong_AsUnsignedLongLong(args[1]);
    if (PyErr_Occurred()) { /* negative, or beyond 64 bits: mapped nowhere */
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return NULL;
        PyErr_Clear();
        Py_RETURN_FALSE;
    }
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), last = first + (n ? n - 1 : 0);
    return PyBool_FromLong(last >= first && page_is_mapped(first, page) &&
                           page_is_mapped(last, page));
}
