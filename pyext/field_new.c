/* field_new.c: making Fields over fresh memory; field_wrap.c makes them over other memory. */
#include "device.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Where the origin lies in a Field's own lists. */
static size_t meta_at(int ndim) { return ((size_t)gb_geometry_bytes(ndim) + 7) & ~(size_t)7; }

/* Views come and go: the memory of a few waits for the next, which saves an allocator and most of the zeros. Plain host
 * Fields only, which are of one size. Not under a sanitizer, which would take the use of a dead Field for that of a new one. */
#ifdef __SANITIZE_ADDRESS__
#define SPARES 0
#else
#define SPARES 16
#endif
static gb_field *spares[SPARES + 1];
static int n_spares;

static gb_field *fresh(PyTypeObject *type) {
    if (type != gb_HostFieldType || n_spares == 0) return (gb_field *)PyType_GenericAlloc(type, 0);
    gb_field *f = spares[--n_spares];
    memset(&f->geometry, 0, offsetof(gb_field, room) - offsetof(gb_field, geometry));
    PyObject_Init((PyObject *)f, type);
    PyObject_GC_Track((PyObject *)f);
    return f;
}

void gb_field_free(gb_field *f) {
    PyTypeObject *type = Py_TYPE((PyObject *)f);
    if (type == gb_HostFieldType && n_spares < SPARES) spares[n_spares++] = f;
    else PyObject_GC_Del(f);
    Py_DECREF((PyObject *)type);
}

gb_field *gb_field_alloc(PyTypeObject *type, int own_ndim) {
    gb_field *f = fresh(type);
    if (!f || own_ndim < 0) return f;
    /* Behind the lists is room for the origin and the halo. */
    f->lists = own_ndim <= GB_FIELD_INLINE ? f->room : malloc(meta_at(own_ndim) + (3 * (size_t)own_ndim + 1) * sizeof(int64_t));
    if (!f->lists) {
        Py_DECREF((PyObject *)f);
        return (gb_field *)PyErr_NoMemory();
    }
    gb_geometry_place(&f->geometry, own_ndim, f->lists);
    return f;
}

int gb_field_room(gb_field *f, int want_origin, int want_halo) {
    size_t n = (size_t)f->geometry.ndim + 1;   /* never zero bytes */
    if (f->lists) {
        int64_t *room = (int64_t *)((char *)f->lists + meta_at(f->geometry.ndim));
        if (want_origin && !f->origin) f->origin = memset(room, 0, (n - 1) * sizeof *room);
        if (want_halo && !f->halo) f->halo = memset(room + n - 1, 0, 2 * (n - 1) * sizeof *room);
        return 0;
    }
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
    if (!twin || Py_TYPE((PyObject *)twin) == Py_TYPE(self)) return (PyObject *)twin;
    gb_field *same = (gb_field *)gb_field_as(Py_TYPE(self), twin);   /* somebody's subclass */
    Py_DECREF((PyObject *)twin);
    if (same && gb_field_inherit(same, f) < 0) Py_CLEAR(same);
    return (PyObject *)same;
}

/* The ranks of the strides, the largest first; of equal ones the first index's. */
static void ranks_of(const gb_geometry *g, int32_t *ranks) {
    for (int i = 0; i < g->ndim; i++) {
        int64_t own = llabs(g->strides[i]);
        ranks[i] = 0;
        for (int j = 0; j < g->ndim; j++) {
            int64_t other = llabs(g->strides[j]);
            ranks[i] += other > own || (other == own && j < i);
        }
    }
}

/* What Field.empty would be asked for. A Field's own plan says how it is padded and aligned; a view's elements lie close. */
static void like_request(const gb_field *lead, const gb_dtype *dtype, gb_request *r) {
    const gb_geometry *g = &lead->geometry;
    const gb_plan *p = lead->lists ? NULL : lead->plan->plan;
    const int64_t *aligned = p ? p->aligned_index : lead->origin;
    int n = g->ndim;
    memset(r, 0, offsetof(gb_request, shape));
    r->ndim = n;
    r->itemsize = dtype->itemsize;
    r->device = GB_CPU;
    memcpy(r->shape, g->shape, (size_t)n * sizeof *r->shape);
    r->dims_len = lead->dims_given ? n : -1;
    if (lead->dims_given) memcpy(r->dims, g->dims, (size_t)n * sizeof *r->dims);
    r->aligned_len = aligned ? n : -1;
    if (aligned) memcpy(r->aligned_index, aligned, (size_t)n * sizeof *aligned);
    r->layout_len = n;
    if (p) memcpy(r->layout, p->layout, (size_t)n * sizeof *r->layout);
    else ranks_of(g, r->layout);
    r->byte_alignment = p ? p->want.boundary & -p->want.boundary : 0;
    for (int i = 0; p && i < n; i++)
        if (p->layout[i] == n - 1 && p->padded_shape[i] > g->shape[i]) r->padding = p->padded_shape[i];
}

gb_field *gb_field_like(const gb_field *lead, gb_dtype *dtype) {
    gb_plan_object *plan;
    if (!lead->lists && lead->dtype == dtype) {
        plan = (gb_plan_object *)Py_NewRef((PyObject *)lead->plan);
    } else {
        gb_request request;
        like_request(lead, dtype, &request);
        if (!(plan = gb_plan_for(&request, dtype))) return NULL;
    }
    gb_field *f = over_plan(plan, 0);
    Py_DECREF((PyObject *)plan);
    if (f) f->dims_given = lead->dims_given;
    if (f && gb_field_copy_meta(f, lead) < 0) Py_CLEAR(f);
    return f;
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
