/* record.c: the record of a Field: allocated, filled in and freed. Everything that makes a Field,
 * over any memory, starts here. */
#include "field.h"
#include "../core/args.h"
#include "../core/attribute.h"
#include "../core/memory.h"
#include "../core/upcall.h"

PyTypeObject *gb_py_FieldType, *gb_py_HostFieldType, *gb_py_DeviceFieldType,
    *gb_py_ManagedFieldType;

/* ---- life ---- */

/* Memory of a few dead Fields is kept for new ones, which saves an allocation and most of the
 * zeroing. Plain host Fields only, which are of one size. Not under a sanitizer, which would take
 * the use of a dead Field for that of a new one, nor in a free-threaded Python, whose collector
 * visits every block. */
#if defined(__SANITIZE_ADDRESS__) || defined(Py_GIL_DISABLED)
#define SPARES 0
#else
#define SPARES 16
#endif
static gb_py_field *spares[SPARES + 1];
static int n_spares;

static gb_py_field *fresh(PyTypeObject *type) {
    if (SPARES == 0 || type != gb_py_HostFieldType || n_spares == 0)
        return (gb_py_field *)PyType_GenericAlloc(type, 0);
    gb_py_field *f = spares[--n_spares];
    memset(&f->geometry, 0, offsetof(gb_py_field, room) - offsetof(gb_py_field, geometry));
    PyObject_Init((PyObject *)f, type);
    PyObject_GC_Track((PyObject *)f);
    return f;
}

static void keep_or_free(gb_py_field *f) {
    PyTypeObject *type = Py_TYPE((PyObject *)f);
    if (type == gb_py_HostFieldType && n_spares < SPARES) spares[n_spares++] = f;
    else PyObject_GC_Del(f);
    Py_DECREF((PyObject *)type);
}

/* Offset of the origin in a Field's own lists. */
static size_t meta_at(int ndim) { return ((size_t)gb_geometry_bytes(ndim) + 7) & ~(size_t)7; }

gb_py_field *gb_py_field_alloc(PyTypeObject *type, int own_ndim) {
    gb_py_field *f = fresh(type);
    if (!f || own_ndim < 0) return f;
    /* Behind the lists is room for the origin and the halo. */
    f->lists = own_ndim <= GB_PY_FIELD_INLINE
                   ? f->room
                   : malloc(meta_at(own_ndim) + (3 * (size_t)own_ndim + 1) * sizeof(int64_t));
    if (!f->lists) {
        Py_DECREF((PyObject *)f);
        return (gb_py_field *)PyErr_NoMemory();
    }
    gb_geometry_set_lists(&f->geometry, own_ndim, f->lists);
    return f;
}

gb_py_field *gb_py_field_on_block(const gb_geometry *g, gb_py_dtype *dtype, void *block) {
    gb_py_field *f = gb_py_field_alloc(gb_py_HostFieldType, g->ndim);
    if (!f) {
        gb_heap_release(block);
        return NULL;
    }
    memcpy(f->geometry.shape, g->shape, (size_t)g->ndim * sizeof *g->shape);
    memcpy(f->geometry.strides, g->strides, (size_t)g->ndim * sizeof *g->strides);
    memcpy(f->geometry.dims, g->dims, (size_t)g->ndim * sizeof *g->dims);
    f->data = f->block = block;
    f->dtype = (gb_py_dtype *)Py_NewRef((PyObject *)dtype);
    f->geometry.itemsize = dtype->itemsize;
    gb_geometry_finish(&f->geometry);
    return f;
}

void gb_py_field_dealloc(PyObject *self) {
    gb_py_field *f = (gb_py_field *)self;
    PyObject_GC_UnTrack(self);
    if (f->weakrefs) PyObject_ClearWeakRefs(self);
    if (f->block) gb_heap_release(f->block);
    if (f->owner) gb_py_decref_owner(f->owner);
    Py_XDECREF(f->cupy);
    Py_XDECREF((PyObject *)f->plan);
    Py_XDECREF((PyObject *)f->dtype);
    if (!f->lists) { /* otherwise origin and halo are in the lists */
        free(f->origin);
        free(f->halo);
    }
    if (f->lists != f->room) free(f->lists);
    keep_or_free(f);
}

/* ---- its memory, and the meaning of its indices ---- */

int gb_py_field_room(gb_py_field *f, int want_origin, int want_halo) {
    size_t n = (size_t)f->geometry.ndim + 1; /* never zero bytes */
    if (f->lists) {
        int64_t *room = (int64_t *)((char *)f->lists + meta_at(f->geometry.ndim));
        if (want_origin && !f->origin) f->origin = memset(room, 0, (n - 1) * sizeof *room);
        if (want_halo && !f->halo) f->halo = memset(room + n - 1, 0, 2 * (n - 1) * sizeof *room);
        return 0;
    }
    if (want_origin && !f->origin && !(f->origin = calloc(n, sizeof *f->origin)))
        return gb_py_no_memory();
    if (want_halo && !f->halo && !(f->halo = calloc(2 * n, sizeof *f->halo)))
        return gb_py_no_memory();
    return 0;
}

int gb_py_field_share(gb_py_field *f, const gb_py_field *from) {
    if ((f->block = from->block)) gb_heap_share(f->block);
    f->owner = Py_XNewRef(from->owner);
    f->dtype = (gb_py_dtype *)Py_NewRef((PyObject *)from->dtype);
    f->readonly = from->readonly;
    f->dims_given = from->dims_given;
    f->location = from->location;
    f->geometry.itemsize = from->geometry.itemsize;
    return 0;
}

static int set_lists(gb_py_field *f, const int64_t *origin, const int64_t *halo, int n) {
    if ((origin || halo) && gb_py_field_room(f, origin != NULL, halo != NULL) < 0) return -1;
    if (origin) memcpy(f->origin, origin, (size_t)n * sizeof *f->origin);
    if (halo) memcpy(f->halo, halo, 2 * (size_t)n * sizeof *f->halo);
    return 0;
}

int gb_py_field_copy_meta(gb_py_field *f, const gb_py_field *from) {
    return set_lists(f, from->origin, from->halo, f->geometry.ndim);
}

int gb_py_field_set_meta(gb_py_field *f, const gb_py_meta *meta) {
    return set_lists(f, meta->has_origin ? meta->origin : NULL, meta->has_halo ? meta->halo : NULL,
                     meta->base);
}

gb_py_plan_object *gb_py_field_plan(gb_py_field *f) {
    if (!f->plan)
        f->plan = gb_py_plan_describe(&f->geometry, (uintptr_t)f->data, f->dtype, f->location);
    return f->plan;
}

gb_py_block_object *gb_py_block_behind(PyObject *obj) {
    while (obj && PyArray_Check(obj)) obj = PyArray_BASE((PyArrayObject *)obj);
    if (obj && gb_py_is_field(obj)) obj = ((gb_py_field *)obj)->owner;
    return obj && gb_py_is_block(obj) ? (gb_py_block_object *)obj : NULL;
}

int gb_py_is_field(PyObject *obj) {
    return Py_TYPE(obj) == gb_py_HostFieldType || PyObject_TypeCheck(obj, gb_py_FieldType);
}

/* ---- types ----
 *
 * Location of the memory decides which interfaces a Field has: Field has a type for each kind, and
 * so has every class derived from it, which gridbuf.field makes. */

PyTypeObject *gb_py_type_for(PyTypeObject *asked, gb_py_location location) {
    PyTypeObject *fits = gb_py_HostFieldType;
    if (location.kind == GB_PY_ON_DEVICE) fits = gb_py_DeviceFieldType;
    if (location.kind == GB_PY_ON_MANAGED) fits = gb_py_ManagedFieldType;
    if (asked == gb_py_FieldType || asked == fits) return fits;
    if (PyType_IsSubtype(asked, fits)) return asked; /* a subclass */
    PyObject *type = gb_py_upcall_to(GB_PY_UP_TYPE_AT, "(OO)", (PyObject *)asked, (PyObject *)fits);
    Py_XDECREF(type); /* the requested class holds the reference */
    return (PyTypeObject *)type;
}

/* ---- over memory that exists: described, or another Field's ---- */

static int plain(const gb_py_imported *m) {
    if (m->ndim > GB_MAXDIMS) {
        PyErr_Format(PyExc_ValueError, "data: %d dimensions; at most %d are allowed", m->ndim,
                     GB_MAXDIMS);
        return 0;
    }
    if (!PyDataType_FLAGCHK(m->descr, NPY_ITEM_REFCOUNT) &&
        !PyDataType_FLAGCHK(m->descr, NPY_ITEM_HASOBJECT))
        return 1;
    PyErr_Format(PyExc_TypeError,
                 "data: its dtype %R holds Python objects; only plain memory can be shared",
                 m->descr);
    return 0;
}

PyObject *gb_py_from_memory(PyTypeObject *type, const gb_py_imported *m) {
    if (!plain(m)) return NULL;
    if (!type)
        return gb_py_array_view(m->descr, m->ndim, m->shape, m->strides, m->data,
                                m->readonly ? 0 : NPY_ARRAY_WRITEABLE, m->owner);
    type = gb_py_type_for(type, m->location);
    gb_py_field *f = type ? gb_py_field_alloc(type, m->ndim) : NULL;
    if (!f) return NULL;
    if (!(f->dtype = gb_py_dtype_of(m->descr))) {
        Py_DECREF((PyObject *)f);
        return NULL;
    }
    for (int i = 0; i < m->ndim; i++) {
        f->geometry.shape[i] = m->shape[i];
        f->geometry.strides[i] = m->strides[i];
        f->geometry.dims[i] = GB_DIM_I + i;
    }
    f->geometry.itemsize = f->dtype->itemsize;
    gb_geometry_finish(&f->geometry);
    f->data = m->data;
    f->readonly = m->readonly != 0;
    f->location = m->location;
    f->owner = Py_XNewRef(m->owner);
    if ((f->block = m->block)) gb_heap_share(f->block);
    return (PyObject *)f;
}

PyObject *gb_py_from_field(PyTypeObject *type, const gb_py_field *from) {
    int n = from->geometry.ndim;
    type = gb_py_type_for(type, from->location);
    gb_py_field *f = type ? gb_py_field_alloc(type, n) : NULL;
    if (!f) return NULL;
    gb_geometry own = f->geometry;
    gb_py_field_share(f, from);
    memcpy(own.shape, from->geometry.shape, n * sizeof(int64_t));
    memcpy(own.strides, from->geometry.strides, n * sizeof(int64_t));
    memcpy(own.dims, from->geometry.dims, n * sizeof(int32_t));
    gb_geometry_finish(&f->geometry);
    f->data = from->data;
    if (gb_py_field_copy_meta(f, from) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}

/* ---- subclasses: attributes of their instances, and their types ---- */

static int is_own(PyTypeObject *type) {
    return type == gb_py_HostFieldType || type == gb_py_DeviceFieldType ||
           type == gb_py_ManagedFieldType || type == gb_py_FieldType;
}

/* Attributes that were set on an instance go along to views and copies. */
int gb_py_field_inherit(gb_py_field *f, const gb_py_field *from) {
    if (is_own(Py_TYPE((PyObject *)from)) || Py_TYPE((PyObject *)f) != Py_TYPE((PyObject *)from))
        return 0;
    GB_PY_OWNED PyObject *own = NULL, *attributes = NULL;
    int found = gb_py_optional((PyObject *)from, gb_py_attr.dict, &attributes),
        rc = found < 0 ? -1 : 0;
    if (found > 0 && PyDict_Check(attributes) && PyDict_Size(attributes) > 0 &&
        (rc = gb_py_optional((PyObject *)f, gb_py_attr.dict, &own)) > 0)
        rc = PyDict_Update(own, attributes);
    return rc;
}

PyObject *gb_py_field_as(PyTypeObject *type, gb_py_field *from) {
    if (!(type = gb_py_type_for(type, from->location))) return NULL;
    if (type == Py_TYPE((PyObject *)from)) return Py_NewRef((PyObject *)from);
    if (from->lists) return gb_py_from_field(type, from);
    gb_py_field *f = gb_py_field_alloc(type, -1); /* the plan is shared, too */
    if (!f) return NULL;
    gb_py_field_share(f, from);
    f->geometry = from->geometry;
    f->plan = (gb_py_plan_object *)Py_NewRef((PyObject *)from->plan);
    f->data = from->data;
    if (gb_py_field_copy_meta(f, from) < 0) Py_CLEAR(f);
    return (PyObject *)f;
}

PyObject *gb_py_field_around(PyObject *type, PyObject *field) {
    if (gb_py_is_field(field)) return gb_py_field_as((PyTypeObject *)type, (gb_py_field *)field);
    return PyErr_Format(PyExc_TypeError, "field: expected a gridbuf.Field, got %R", Py_TYPE(field));
}

PyObject *gb_py_field_get_class(PyObject *self, void *unused) {
    return Py_NewRef((PyObject *)Py_TYPE(self));
}

/* Otherwise a host address could be exported as a GPU's. */
int gb_py_field_set_class(PyObject *self, PyObject *value, void *unused) {
    return gb_py_fail(PyExc_TypeError,
                      "__class__: the class of a Field says where its memory lies; %R(field) "
                      "shares the memory of a Field",
                      value ? value : (PyObject *)gb_py_FieldType);
}
