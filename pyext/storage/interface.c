/* interface.c: plain arrays, host Fields and host storages for gridbuf.interface: the host entry of
 * __gt_interface__, and the arrays that a call gets of them, for which it has nothing to acquire,
 * touch or release. In which order of indices gridbuf.interface.acquiring says; it depends on
 * names, shape, strides, dtype and on what was asked for alone. */
#include "storage.h"
#include "../core/args.h"
#include "../core/attribute.h"
#include "../field/field.h"

/* ---- the entry ---- */

enum { SHAPE, TYPESTR, DATA, STRIDES, DIMS, ACQUIRE, TOUCH, RELEASE, KEYS };
static PyObject *words[KEYS];

int gb_py_describe_init(PyObject *module) {
    static const char *const texts[KEYS] = {"shape", "typestr", "data",  "strides",
                                            "dims",  "acquire", "touch", "release"};
    return gb_py_intern_names(texts, words, KEYS);
}

typedef struct {
    gb_py_dtype *dtype;
    int n;
    const int64_t *shape, *strides;
    void *data;
    int readonly;
} memory;

static PyObject *entry(const memory *m, PyObject *dims, PyObject *acquire, PyObject *touch) {
    GB_PY_OWNED PyObject *shape = gb_py_ints_tuple(m->shape, m->n),
                         *strides = gb_py_ints_tuple(m->strides, m->n),
                         *address = PyLong_FromVoidPtr(m->data);
    GB_PY_OWNED PyObject *data =
        address ? PyTuple_Pack(2, address, m->readonly ? Py_True : Py_False) : NULL;
    PyObject *made = shape && strides && data && dims && acquire && touch ? PyDict_New() : NULL;
    PyObject *const values[KEYS] = {shape, m->dtype->typestr, data,  strides,
                                    dims,  acquire,           touch, Py_None};
    for (int i = 0; made && i < KEYS; i++)
        if (PyDict_SetItem(made, words[i], values[i]) < 0) Py_CLEAR(made);
    return made;
}

static memory of_array(PyArrayObject *a, gb_py_dtype *dtype) {
    return (memory){dtype,
                    PyArray_NDIM(a),
                    (const int64_t *)PyArray_DIMS(a),
                    (const int64_t *)PyArray_STRIDES(a),
                    PyArray_DATA(a),
                    !PyArray_ISWRITEABLE(a)};
}

/* A Storage's _host_entry(): its host entry of __gt_interface__; None: for Python to ask. */
PyObject *gb_py_storage_host_entry(PyObject *self, PyObject *unused) {
    PyArrayObject *host = gb_py_storage_host(self);
    char letters[GB_PY_STORAGE_AXES + 1];
    if (!host) Py_RETURN_NONE;
    GB_PY_OWNED PyObject *held = Py_NewRef((PyObject *)host); /* later calls may run Python code */
    if (gb_py_meta_axes(((gb_py_storage *)self)->meta, letters) < 0) return NULL;
    int32_t codes[GB_PY_STORAGE_AXES];
    int n = 0;
    for (; letters[n]; n++) codes[n] = GB_DIM_OF(letters[n]);
    GB_PY_OWNED PyObject *dims = gb_py_dims_tuple(codes, n),
                         *acquire = gb_py_upcall_of(self, GB_PY_OF_STORAGE_TO_HOST),
                         *touch = gb_py_upcall_of(self, GB_PY_OF_STORAGE_WRITTEN);
    GB_PY_OWNED gb_py_dtype *dtype = gb_py_dtype_of(PyArray_DESCR(host));
    if (!dtype) return NULL;
    if (!dtype->typestr) Py_RETURN_NONE;
    memory m = of_array(host, dtype);
    return entry(&m, dims, acquire, touch);
}

/* A typestr describes numbers completely. */
static int is_number_type(const gb_py_dtype *dtype) {
    int type = dtype->descr->type_num;
    return dtype->typestr && (PyTypeNum_ISNUMBER(type) || PyTypeNum_ISFLOAT(type));
}

static PyObject *of_field(gb_py_field *f) {
    if (f->location.kind != GB_PY_HEAP || !is_number_type(f->dtype)) Py_RETURN_NONE;
    GB_PY_OWNED PyObject *dims = gb_py_dims_given(f);
    memory m = {f->dtype, f->geometry.ndim, f->geometry.shape, f->geometry.strides,
                f->data,  f->readonly};
    return entry(&m, dims, Py_None, Py_None);
}

static PyObject *of_ndarray(PyArrayObject *array) {
    GB_PY_OWNED gb_py_dtype *dtype = gb_py_dtype_of(PyArray_DESCR(array));
    if (!dtype) PyErr_Clear(); /* Python objects: gridbuf.interface raises the error */
    if (!dtype || !is_number_type(dtype)) Py_RETURN_NONE;
    memory m = of_array(array, dtype);
    return entry(&m, Py_None, Py_None, Py_None);
}

/* host_description(obj): the host memory as gridbuf.interface.read describes it; None: for Python
 * to find. */
PyObject *gb_py_host_description(PyObject *self, PyObject *obj) {
    if (PyArray_CheckExact(obj)) return of_ndarray((PyArrayObject *)obj);
    if (Py_TYPE(obj) == gb_py_HostFieldType) return of_field((gb_py_field *)obj);
    if (gb_py_plain_storage(obj)) return gb_py_storage_host_entry(obj, NULL);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* ---- the arrays of a call ---- */

/* own: a storage's Meta, a Field's dims or None. Strides count where there is a backend, whose
 * layouts may be slow. */
typedef struct {
    PyObject *own, *dtype, *asked, *needed, *backend;
    int ndim, registrations;
    npy_intp shape[GB_PY_STORAGE_AXES], strides[GB_PY_STORAGE_AXES];
} question;
typedef struct {
    question asked;
    int known, permuted, order[GB_PY_STORAGE_AXES];
} answer;

#define REMEMBERED 64
static answer seen[REMEMBERED];

static answer *slot_of(const question *q) {
    uint64_t h = (uintptr_t)q->own >> 4 ^ (uintptr_t)q->asked >> 3 ^ (uintptr_t)q->needed >> 2;
    for (int i = 0; i < q->ndim; i++)
        h = (h ^ (uint64_t)q->strides[i] ^ (uint64_t)q->shape[i] << 32) * 0x9E3779B97F4A7C15u;
    return &seen[(h * 0xBF58476D1CE4E5B9u) >> 58];
}

/* 1, 0: there is something to explain; -1: an error. */
static int ask(answer *a, PyObject *names, PyObject *shape, PyObject *strides) {
    question *q = &a->asked;
    GB_PY_OWNED PyObject *order =
        gb_py_upcall_to(GB_PY_UP_ACQUIRING_WAY, "(OOiOOOOO)", names, q->asked, q->ndim, q->dtype,
                        q->needed, q->backend, shape, strides);
    if (!order) return -1;
    if (!PyTuple_Check(order) || PyTuple_Size(order) > q->ndim) return 0;
    a->permuted = PyTuple_Size(order) > 0;
    for (int i = 0; a->permuted && i < q->ndim; i++)
        a->order[i] = (int)PyLong_AsLong(PyTuple_GetItem(order, i));
    if (PyErr_Occurred()) return -1;
    if (!gb_py_is_constant(q->asked) || !gb_py_is_constant(q->needed) ||
        !gb_py_is_constant(q->backend))
        return 1;
    answer *slot = slot_of(q), before = *slot;
    *slot = *a;
    slot->known = 1;
    PyObject *const all[] = {q->own, q->dtype, q->asked, q->needed, q->backend};
    for (int i = 0; i < 5; i++) Py_INCREF(all[i]);
    PyObject *const old[] = {before.asked.own, before.asked.dtype, before.asked.asked,
                             before.asked.needed, before.asked.backend};
    for (int i = 0; i < 5; i++) Py_XDECREF(old[i]);
    return 1;
}

static PyObject *in_order(PyArrayObject *array, const answer *a) {
    npy_intp order[GB_PY_STORAGE_AXES];
    for (int i = 0; i < a->asked.ndim; i++) order[i] = a->order[i];
    PyArray_Dims permute = {order, a->asked.ndim};
    return a->permuted ? PyArray_Transpose(array, &permute) : PyArray_View(array, NULL, NULL);
}

/* Put `array`, with the indices `own` (`names` for Python), into the call's order. NULL without an
 * error: for Python. */
static PyObject *for_call(PyArrayObject *array, PyObject *own, PyObject *names, PyObject *asked,
                          PyObject *needed, PyObject *backend) {
    int n = PyArray_NDIM(array), status = 1;
    if (n > GB_PY_STORAGE_AXES) return NULL;
    answer a;
    GB_PY_OWNED PyObject *dtype = Py_NewRef((PyObject *)PyArray_DESCR(array));
    memset(&a, 0, sizeof a);
    question *q = &a.asked; /* field by field: it is compared as bytes */
    q->own = own, q->dtype = dtype, q->asked = asked, q->needed = needed, q->backend = backend,
    q->ndim = n, q->registrations = gb_py_registered_so_far;
    for (int i = 0; i < n && backend != Py_None; i++)
        q->shape[i] = PyArray_DIM(array, i), q->strides[i] = PyArray_STRIDE(array, i);
    const answer *known = slot_of(q);
    if (known->known && memcmp(&known->asked, q, sizeof *q) == 0) return in_order(array, known);
    GB_PY_OWNED PyObject *shape = gb_py_ints_tuple((const int64_t *)PyArray_DIMS(array), n),
                         *strides = gb_py_ints_tuple((const int64_t *)PyArray_STRIDES(array), n);
    if (!shape || !strides || (status = ask(&a, names, shape, strides)) <= 0) {
        if (status < 0 &&
            (PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError)))
            PyErr_Clear(); /* Python's way raises the full error */
        return NULL;
    }
    return in_order(array, &a);
}

static PyObject *of_object(PyObject *obj, PyObject *asked, PyObject *needed, PyObject *backend) {
    if (PyArray_CheckExact(obj))
        return for_call((PyArrayObject *)obj, Py_None, Py_None, asked, needed, backend);
    if (gb_py_is_plain_field(obj)) {
        GB_PY_OWNED PyObject *array = gb_py_field_numpy(obj, NULL),
                             *dims = gb_py_dims_given((gb_py_field *)obj);
        /* Dims are another object each time; their name is not. */
        GB_PY_OWNED PyObject *nothing = PyUnicode_FromString(""),
                             *name = nothing && dims && dims != Py_None
                                         ? PyUnicode_Join(nothing, dims)
                                         : Py_XNewRef(dims);
        if (name && PyUnicode_CheckExact(name)) PyUnicode_InternInPlace(&name);
        return array && name ? for_call((PyArrayObject *)array, name, dims, asked, needed, backend)
                             : NULL;
    }
    PyArrayObject *host = gb_py_plain_storage(obj);
    if (!host) return NULL;
    GB_PY_OWNED PyObject *held = Py_NewRef((PyObject *)host),
                         *meta = Py_NewRef(((gb_py_storage *)obj)->meta),
                         *axes = gb_py_upcall_of(meta, GB_PY_OF_META_AXES);
    return axes ? for_call(host, meta, axes, asked, needed, backend) : NULL;
}

/* A new reference: a field's names may be asked for by Python code that empties the dict. */
static PyObject *in_map(PyObject *map, PyObject *name) {
    PyObject *found = PyDict_CheckExact(map) ? PyDict_GetItemWithError(map, name) : NULL;
    return Py_NewRef(found ? found : Py_None);
}

static int all_writeable(PyObject *outputs, PyObject *arrays) {
    GB_PY_OWNED PyObject *names = PySequence_Tuple(outputs);
    int good = names != NULL;
    for (Py_ssize_t i = 0; good && i < PyTuple_Size(names); i++) {
        PyObject *array = PyDict_GetItemWithError(arrays, PyTuple_GetItem(names, i));
        good = array && PyArray_ISWRITEABLE((PyArrayObject *)array);
    }
    return good;
}

/* host_arrays(fields, outputs, dims, dtypes, backend): name to array. None: there is anything else,
 * or anything to explain or warn of. */
PyObject *gb_py_host_arrays(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 5)
        return PyErr_Format(PyExc_TypeError,
                            "host_arrays() takes fields, outputs, dims, dtypes and backend");
    if (!PyDict_CheckExact(args[0]) || !PyDict_CheckExact(args[2]) || !PyDict_CheckExact(args[3]))
        Py_RETURN_NONE;
    GB_PY_OWNED PyObject *fields = PyDict_Items(args[0]), *arrays = PyDict_New();
    Py_ssize_t named = 0, typed = 0, n = fields && arrays ? PyList_Size(fields) : -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *name = PyTuple_GetItem(PyList_GetItem(fields, i), 0);
        GB_PY_OWNED PyObject *asked = in_map(args[2], name), *needed = in_map(args[3], name);
        named += asked != Py_None;
        typed += needed != Py_None;
        GB_PY_OWNED PyObject *array =
            of_object(PyTuple_GetItem(PyList_GetItem(fields, i), 1), asked, needed, args[4]);
        if (!array || PyDict_SetItem(arrays, name, array) < 0)
            return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    if (n < 0 || PyErr_Occurred()) return NULL;
    /* Names that are not among the fields are an error, which Python explains. */
    if (named < PyDict_Size(args[2]) || typed < PyDict_Size(args[3]) ||
        !all_writeable(args[1], arrays))
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    return Py_NewRef(arrays);
}
