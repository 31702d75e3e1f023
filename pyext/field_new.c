/* field_new.c: making Fields: over fresh memory, over other memory, over a Field's. */
#include "copying.h"

#include <stdlib.h>
#include <string.h>

gb_field *gb_field_alloc(PyTypeObject *type, int own_ndim) {
    gb_field *f = (gb_field *)PyType_GenericAlloc(type, 0);
    if (!f || own_ndim < 0) return f;
    f->lists = malloc(gb_geometry_bytes(own_ndim) + 8);
    if (!f->lists) {
        Py_DECREF((PyObject *)f);
        return (gb_field *)PyErr_NoMemory();
    }
    gb_geometry_place(&f->geometry, own_ndim, f->lists);
    return f;
}

int gb_field_room(gb_field *f, int want_origin, int want_halo) {
    size_t n = (size_t)f->geometry.ndim + 1;   /* never zero bytes */
    if (want_origin && !f->origin && !(f->origin = calloc(n, sizeof *f->origin))) return PyErr_NoMemory(), -1;
    if (want_halo && !f->halo && !(f->halo = calloc(2 * n, sizeof *f->halo))) return PyErr_NoMemory(), -1;
    return 0;
}

int gb_field_share(gb_field *f, const gb_field *from) {
    if ((f->block = from->block)) gb_share(f->block);
    f->owner = Py_XNewRef(from->owner);
    f->dtype = (gb_dtype *)Py_NewRef((PyObject *)from->dtype);
    f->readonly = from->readonly;
    f->dims_given = from->dims_given;
    f->geometry.itemsize = from->geometry.itemsize;
    return 0;
}

int gb_field_copy_meta(gb_field *f, const gb_field *from) {
    if (gb_field_room(f, from->origin != NULL, from->halo != NULL) < 0) return -1;
    size_t n = (size_t)f->geometry.ndim;
    if (from->origin) memcpy(f->origin, from->origin, n * sizeof *f->origin);
    if (from->halo) memcpy(f->halo, from->halo, 2 * n * sizeof *f->halo);
    return 0;
}

static int set_meta(gb_field *f, const gb_meta *meta) {
    if (!meta->has_origin && !meta->has_halo) return 0;
    if (gb_field_room(f, meta->has_origin, meta->has_halo) < 0) return -1;
    size_t n = (size_t)meta->base;
    if (meta->has_origin) memcpy(f->origin, meta->origin, n * sizeof *f->origin);
    if (meta->has_halo) memcpy(f->halo, meta->halo, 2 * n * sizeof *f->halo);
    return 0;
}

/* ---- over fresh memory ---- */

/* A Field over a new block for the plan. */
static gb_field *over_plan(gb_plan_object *plan, int zero) {
    void *data;
    if (gb_plan_allocate(plan->plan, zero, &data) < 0) return NULL;
    gb_field *f = gb_field_alloc(gb_HostFieldType, -1);
    if (!f) {
        gb_release(data);
        return NULL;
    }
    f->geometry = plan->plan->geometry;
    f->plan = (gb_plan_object *)Py_NewRef((PyObject *)plan);
    f->dtype = (gb_dtype *)Py_NewRef((PyObject *)plan->dtype);
    f->data = f->block = data;
    return f;
}

/* Without Go: a forked child copies Fields too. A view has no plan of its own: None. */
PyObject *gb_field_twin(PyObject *self, PyObject *unused) {
    gb_field *f = (gb_field *)self;
    if (f->lists) Py_RETURN_NONE;
    gb_field *twin = over_plan(f->plan, 0);
    if (twin) twin->dims_given = f->dims_given;
    if (twin && gb_field_copy_meta(twin, f) < 0) Py_CLEAR(twin);
    return (PyObject *)twin;
}

static PyObject *make(const gb_signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, int zero,
                      PyObject **fill_value) {
    PyObject *slots[A_COUNT];
    gb_meta meta;
    gb_plan_object *plan = gb_plan_for_call(sig, args, nargs, kwnames, &meta, slots);
    if (!plan) return NULL;
    if (fill_value) *fill_value = slots[A_FILL_VALUE];
    gb_field *f = over_plan(plan, zero);
    if (f) f->dims_given = (uint8_t)meta.has_dims;
    if (f && set_meta(f, &meta) < 0) Py_CLEAR(f);
    Py_DECREF((PyObject *)plan);
    return (PyObject *)f;
}

static PyObject *filled(PyObject *field, PyObject *value) {
    if (field && gb_assign(field, value) < 0) Py_CLEAR(field);
    return field;
}

#define FIELD_SPEC (A_SPEC | A_BIT(A_DIMS) | A_BIT(A_ORIGIN))

PyObject *gb_field_empty(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"Field.empty", {A_SHAPE, A_DTYPE}, 2, 1, FIELD_SPEC};
    return make(&sig, args, nargs, kwnames, 0, NULL);
}

PyObject *gb_field_zeros(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"Field.zeros", {A_SHAPE, A_DTYPE}, 2, 1, FIELD_SPEC};
    return make(&sig, args, nargs, kwnames, 1, NULL);
}

PyObject *gb_field_ones(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"Field.ones", {A_SHAPE, A_DTYPE}, 2, 1, FIELD_SPEC};
    PyObject *one = PyLong_FromLong(1);
    PyObject *field = one ? filled(make(&sig, args, nargs, kwnames, 0, NULL), one) : NULL;
    Py_XDECREF(one);
    return field;
}

PyObject *gb_field_full(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"Field.full", {A_SHAPE, A_FILL_VALUE, A_DTYPE}, 3, 2, FIELD_SPEC | A_BIT(A_FILL_VALUE)};
    PyObject *value;
    PyObject *field = make(&sig, args, nargs, kwnames, 0, &value);
    return filled(field, value);
}

/* ---- over other memory ---- */

static gb_field *over_array(PyTypeObject *type, PyArrayObject *array) {
    int n = PyArray_NDIM(array);
    PyArray_Descr *descr = PyArray_DESCR(array);
    if (n > GB_MAXDIMS) {
        PyErr_Format(PyExc_ValueError, "data: %d dimensions; at most %d are allowed", n, GB_MAXDIMS);
        return NULL;
    }
    if (PyDataType_FLAGCHK(descr, NPY_ITEM_REFCOUNT) || PyDataType_FLAGCHK(descr, NPY_ITEM_HASOBJECT)) {
        PyErr_Format(PyExc_TypeError, "data: its dtype %R holds Python objects; a Field is plain memory", descr);
        return NULL;
    }
    gb_field *f = gb_field_alloc(type, n);
    if (!f) return NULL;
    f->dtype = gb_dtype_of(descr);
    if (!f->dtype) {
        Py_DECREF((PyObject *)f);
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        f->geometry.shape[i] = PyArray_DIM(array, i);
        f->geometry.strides[i] = PyArray_STRIDE(array, i);
        f->geometry.dims[i] = i - 3;
    }
    f->geometry.itemsize = f->dtype->itemsize;
    gb_geometry_finish(&f->geometry);
    f->data = PyArray_DATA(array);
    f->readonly = !PyArray_ISWRITEABLE(array);
    f->owner = Py_NewRef((PyObject *)array);
    return f;
}

static gb_field *over_field(PyTypeObject *type, const gb_field *from) {
    int n = from->geometry.ndim;
    gb_field *f = gb_field_alloc(type, n);
    if (!f) return NULL;
    gb_geometry own = f->geometry;
    gb_field_share(f, from);
    memcpy(own.shape, from->geometry.shape, n * sizeof(int64_t));
    memcpy(own.strides, from->geometry.strides, n * sizeof(int64_t));
    memcpy(own.dims, from->geometry.dims, n * sizeof(int32_t));
    gb_geometry_finish(&f->geometry);
    f->data = from->data;
    if (gb_field_copy_meta(f, from) < 0) Py_CLEAR(f);
    return f;
}

/* Anything else: gridbuf._wrap.adopt gives an ndarray over its memory and, as
 * tuples or None, the dims, origin and halo that the object itself carries. */
static gb_field *over_object(PyTypeObject *type, PyObject *data, PyObject **own) {
    PyObject *module = PyImport_ImportModule("gridbuf._wrap");
    PyObject *adopt = module ? PyObject_GetAttrString(module, "adopt") : NULL;
    PyObject *adopted = adopt ? PyObject_CallFunctionObjArgs(adopt, data, NULL) : NULL;
    gb_field *f = NULL;
    PyObject *array;
    if (adopted && PyArg_ParseTuple(adopted, "O!OOO", &PyArray_Type, &array, &own[0], &own[1], &own[2])) {
        f = over_array(type, (PyArrayObject *)array);
        if (f && PyArray_Check(data)) {   /* a subclass: its own object is the owner, not the array inside */
            Py_DECREF(f->owner);
            f->owner = Py_NewRef(data);
        }
        for (int i = 0; i < 3; i++) Py_INCREF(own[i]);
    }
    Py_XDECREF(module);
    Py_XDECREF(adopt);
    Py_XDECREF(adopted);
    return f;
}

static int set_dims(gb_field *f, PyObject *dims) {
    if (!dims || dims == Py_None) return 0;
    int32_t codes[GB_MAXDIMS];
    int n = gb_dims(dims, "dims", codes, GB_MAXDIMS);
    if (n < 0) return -1;
    if (n != f->geometry.ndim) {
        PyErr_Format(PyExc_ValueError, "dims: %R names %d indices, the data has %d", dims, n, f->geometry.ndim);
        return -1;
    }
    memcpy(f->geometry.dims, codes, n * sizeof *codes);
    f->dims_given = 1;
    return 0;
}

static int set_given(gb_field *f, PyObject *dims, PyObject *origin, PyObject *halo) {
    if (set_dims(f, dims) < 0) return -1;
    gb_meta meta;
    if (gb_read_meta(origin, halo, f->geometry.shape, f->geometry.ndim, &meta) < 0) return -1;
    return set_meta(f, &meta);
}

PyObject *gb_field_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"data", "dims", "origin", "halo", NULL};
    PyObject *data, *dims = NULL, *origin = NULL, *halo = NULL, *own[3] = {NULL, NULL, NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$OO:Field", names, &data, &dims, &origin, &halo)) return NULL;
    if (type == gb_FieldType) type = gb_HostFieldType;
    gb_field *f;
    if (PyArray_CheckExact(data)) f = over_array(type, (PyArrayObject *)data);
    else if (gb_is_field(data)) f = over_field(type, (gb_field *)data);
    else f = over_object(type, data, own);
    if (f && own[0] && set_given(f, own[0], own[1], own[2]) < 0) Py_CLEAR(f);
    if (f && set_given(f, dims, origin, halo) < 0) Py_CLEAR(f);
    for (int i = 0; i < 3; i++) Py_XDECREF(own[i]);
    return (PyObject *)f;
}
