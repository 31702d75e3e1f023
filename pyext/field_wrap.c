/* field_wrap.c: Fields over memory that is there already, and gridbuf.Field itself. */
#include "device.h"
#include "exchange.h"
#include "pending.h"
#include "wrap.h"

#include <string.h>

static PyObject *array_over(const gb_foreign *m) {
    PyObject *array = PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)Py_NewRef((PyObject *)m->descr), m->ndim, (npy_intp *)m->shape,
                                           (npy_intp *)m->strides, m->data, m->readonly ? 0 : NPY_ARRAY_WRITEABLE, NULL);
    if (array && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(m->owner)) < 0) Py_CLEAR(array);
    return array;
}

static int plain(const gb_foreign *m) {
    if (m->ndim > GB_MAXDIMS) {
        PyErr_Format(PyExc_ValueError, "data: %d dimensions; at most %d are allowed", m->ndim, GB_MAXDIMS);
        return 0;
    }
    if (!PyDataType_FLAGCHK(m->descr, NPY_ITEM_REFCOUNT) && !PyDataType_FLAGCHK(m->descr, NPY_ITEM_HASOBJECT)) return 1;
    PyErr_Format(PyExc_TypeError, "data: its dtype %R holds Python objects; only plain memory can be shared", m->descr);
    return 0;
}

PyObject *gb_over_memory(PyTypeObject *type, const gb_foreign *m) {
    if (!plain(m)) return NULL;
    if (!type) return array_over(m);
    type = gb_type_for(type, m->place);
    gb_field *f = type ? gb_field_alloc(type, m->ndim) : NULL;
    if (!f) return NULL;
    if (!(f->dtype = gb_dtype_of(m->descr))) {
        Py_DECREF((PyObject *)f);
        return NULL;
    }
    for (int i = 0; i < m->ndim; i++) {
        f->geometry.shape[i] = m->shape[i];
        f->geometry.strides[i] = m->strides[i];
        f->geometry.dims[i] = i - 3;
    }
    f->geometry.itemsize = f->dtype->itemsize;
    gb_geometry_finish(&f->geometry);
    f->data = m->data;
    f->readonly = m->readonly != 0;
    f->place = m->place;
    f->owner = Py_XNewRef(m->owner);
    if ((f->block = m->block)) gb_share(f->block);
    return (PyObject *)f;
}

PyObject *gb_over_field(PyTypeObject *type, const gb_field *from) {
    int n = from->geometry.ndim;
    type = gb_type_for(type, from->place);
    gb_field *f = type ? gb_field_alloc(type, n) : NULL;
    if (!f) return NULL;
    gb_geometry own = f->geometry;
    gb_field_share(f, from);
    memcpy(own.shape, from->geometry.shape, n * sizeof(int64_t));
    memcpy(own.strides, from->geometry.strides, n * sizeof(int64_t));
    memcpy(own.dims, from->geometry.dims, n * sizeof(int32_t));
    gb_geometry_finish(&f->geometry);
    f->data = from->data;
    if (gb_field_copy_meta(f, from) < 0) Py_CLEAR(f);
    return (PyObject *)f;
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
    return gb_field_set_meta(f, &meta);
}

/* The dims and origin that the object itself carries. */
static int set_carried(gb_field *f, PyObject *data) {
    if (PyArray_CheckExact(data) || gb_is_field(data)) return 0;
    PyObject *dims, *origin;
    int carried = gb_carried(data, (PyObject *)f, &dims, &origin);
    if (carried <= 0) return carried;
    carried = set_given(f, dims, origin, NULL);
    Py_DECREF(dims);
    Py_DECREF(origin);
    return carried;
}

static int check_require(gb_field *f, PyObject *require) {
    if (!require || require == Py_None) return 0;
    PyObject *module = PyImport_ImportModule("gridbuf.requirements");
    PyObject *met = module ? PyObject_CallMethod(module, "check", "OO", (PyObject *)f, require) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(met);
    return met ? 0 : -1;
}

PyObject *gb_field_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"data", "dims", "origin", "halo", "require", NULL};
    PyObject *data, *dims = NULL, *origin = NULL, *halo = NULL, *require = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$OOO:Field", names, &data, &dims, &origin, &halo, &require)) return NULL;
    PyObject *given[] = {dims, origin, halo, require};   /* kwargs may be somebody's dict, which what follows can empty */
    for (int i = 0; i < 4; i++) Py_XINCREF(given[i]);
    gb_field *f = (gb_field *)gb_wrap(type, data);
    if (f && (set_carried(f, data) < 0 || set_given(f, dims, origin, halo) < 0 || check_require(f, require) < 0)) Py_CLEAR(f);
    for (int i = 0; i < 4; i++) gb_let_go(given[i]);
    return (PyObject *)f;
}

PyObject *gb_from_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const gb_signature sig = {"from_dlpack", {A_X, A_DIMS}, 2, 1,
                                     A_BIT(A_X) | A_BIT(A_DIMS) | A_BIT(A_ORIGIN) | A_BIT(A_HALO) | A_BIT(A_COPY)};
    PyObject *slots[A_COUNT];
    if (gb_args(&sig, args, nargs, kwnames, slots) < 0) return NULL;
    int copy = slots[A_COPY] && slots[A_COPY] != Py_None ? PyObject_IsTrue(slots[A_COPY]) : -2;
    if (copy == -1) return NULL;
    gb_field *f = (gb_field *)gb_wrap_tensor(gb_FieldType, slots[A_X], copy == 1 ? GB_OWN_COPY : copy == 0 ? GB_SHARE_ONLY : 0);
    if (!f) gb_blame("x", 0);
    if (f && set_given(f, slots[A_DIMS], slots[A_ORIGIN], slots[A_HALO]) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}
