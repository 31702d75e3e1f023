/* field_new.c: making Fields over fresh memory; field_wrap.c makes them over other memory. */
#include "device.h"

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
    f->place = from->place;
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

int gb_field_set_meta(gb_field *f, const gb_meta *meta) {
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
    if (!gb_plan_on_heap(plan->plan)) return gb_device_field(plan, zero);
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
    if (f && gb_field_set_meta(f, &meta) < 0) Py_CLEAR(f);
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
