/* field.h: gridbuf.Field: memory that remembers its dimensions, origin and halo. */
#pragma once

#include "../../dlpack/dlpack.h"
#include "../core/memory.h"
#include "../core/driver.h"

/* Views are made often, most with few indices: their lists, origin and halo are in the record. */
#define GB_PY_FIELD_INLINE 4
#define GB_PY_FIELD_ROOM ((28 * GB_PY_FIELD_INLINE + 7) / 8 + 3 * GB_PY_FIELD_INLINE)

typedef struct gb_py_field {
    PyObject_HEAD
    /* lists: the plan's, or the Field's own */
    gb_geometry geometry;
    char *data; /* element 0 */
    gb_py_dtype *dtype;
    gb_py_plan_object *plan; /* NULL until needed, for views and wrapped memory */
    void *lists;             /* the Field's own lists, in `room` where they fit, or NULL */
    void *block;             /* the shared heap block, or NULL */
    PyObject *owner;         /* owner of the memory, or NULL */
    int64_t *origin, *halo;  /* index order, halo as low, high pairs; NULL when not given */
    uint8_t dims_given, readonly;
    gb_py_location location;
    PyObject *cupy; /* cupy array over the memory, once made, or NULL */
    PyObject *weakrefs;
    int64_t room[GB_PY_FIELD_ROOM];
} gb_py_field;

/* Types differ in size, so that assigning __class__ cannot change the kind of memory. */
#define GB_PY_FIELD_SIZE(kind) ((int)(sizeof(gb_py_field) + (kind) * sizeof(void *)))

extern PyTypeObject *gb_py_FieldType, *gb_py_HostFieldType, *gb_py_DeviceFieldType,
    *gb_py_ManagedFieldType;
/* Whether obj is a Field in host memory, and of no derived class. */
#define gb_py_is_plain_field(obj) \
    (Py_TYPE(obj) == gb_py_HostFieldType && ((gb_py_field *)(obj))->location.kind == GB_PY_HEAP)

/* Whether an index has a name that gt4py does not know. */
static inline int gb_py_has_own_names(const gb_py_field *f) {
    for (int i = 0; i < f->geometry.ndim; i++)
        if (f->geometry.dims[i] >= GB_DIM_NAMED) return 1;
    return 0;
}

/* The names that were given, or None where gt4py does not know them all. */
static inline PyObject *gb_py_dims_given(const gb_py_field *f) {
    return f->dims_given && !gb_py_has_own_names(f)
               ? gb_py_dims_tuple(f->geometry.dims, f->geometry.ndim)
               : Py_NewRef(Py_None);
}

/* A Field's own block of the driver, or NULL. Borrowed. */
static inline gb_cuda_block *gb_py_field_block(const gb_py_field *f) {
    return f->owner && gb_py_is_block(f->owner) ? ((gb_py_block_object *)f->owner)->block : NULL;
}

/* ---- record.c ---- */

int gb_py_is_field(PyObject *obj);
/* Block of the driver behind an object's memory, through the bases of arrays, or NULL. Borrowed. */
gb_py_block_object *gb_py_block_behind(PyObject *obj);

/* own_ndim >= 0: with room for lists of its own. */
gb_py_field *gb_py_field_alloc(PyTypeObject *type, int own_ndim);
/* Field laid out as g over a heap block, which is taken over. */
gb_py_field *gb_py_field_on_block(const gb_geometry *g, gb_py_dtype *dtype, void *block);
void gb_py_field_dealloc(PyObject *self);

int gb_py_field_room(gb_py_field *f, int want_origin, int want_halo);
int gb_py_field_share(gb_py_field *f, const gb_py_field *from); /* hold the same memory */
int gb_py_field_copy_meta(gb_py_field *f, const gb_py_field *from);
int gb_py_field_set_meta(gb_py_field *f, const gb_py_meta *meta);
/* Plan of a Field; worked out at first use for views. Borrowed; NULL with an error. */
gb_py_plan_object *gb_py_field_plan(gb_py_field *f);

/* Type of a Field over memory at the location, when `asked` was called; NULL with a TypeError. */
PyTypeObject *gb_py_type_for(PyTypeObject *asked, gb_py_location location);

/* Described memory. Everything is borrowed from the caller, which copies lists out of arrays, dicts
 * and tensors: making a Field runs Python code, which can change them. */
typedef struct gb_py_imported {
    PyArray_Descr *descr;
    int ndim;
    const int64_t *shape, *strides; /* strides in bytes */
    char *data;
    int readonly;
    PyObject *owner; /* keeps the memory alive, or NULL: */
    void *block;     /* the heap block of the memory */
    gb_py_location location;
} gb_py_imported;

/* A Field of the type over the memory; with type NULL an ndarray. */
PyObject *gb_py_from_memory(PyTypeObject *type, const gb_py_imported *memory);
PyObject *gb_py_from_field(PyTypeObject *type, const gb_py_field *from);

/* Subclasses. */
int gb_py_field_inherit(gb_py_field *f, const gb_py_field *from);
PyObject *gb_py_field_as(PyTypeObject *type, gb_py_field *from);
PyObject *gb_py_field_around(PyObject *type, PyObject *field);
PyObject *gb_py_field_get_class(PyObject *self, void *unused);
int gb_py_field_set_class(PyObject *self, PyObject *value, void *unused);

/* ---- host.c ---- */

/* Call before the host reads a Field's memory: refuses device memory, waits for managed memory; -1
 * with an error. */
int gb_py_require_host_access(gb_py_field *f);
int gb_py_field_getbuffer(PyObject *self, Py_buffer *view, int flags);
/* -1 with AttributeError where the dtype has no typestr. */
int gb_py_field_expressible(const gb_py_field *f, const char *interface);
/* The keys that both array interfaces share. */
PyObject *gb_py_field_interface(const gb_py_field *f, void *address);
PyObject *gb_py_field_array_interface(PyObject *self, void *unused);
PyObject *gb_py_field_numpy(PyObject *self, PyObject *unused);

/* ---- device.c ---- */

/* A cupy array over the same memory, the same one each time. New reference. */
PyObject *gb_py_cupy_over(gb_py_field *f);

/* ---- names.c ---- */

/* Whether both name their indices; -1 with an error. */
int gb_py_both_named(PyObject *target, PyObject *values);
/* values for target, their indices matched by name where both have names. */
PyObject *gb_py_fitted(PyObject *target, PyObject *values, const char *arg);
PyObject *gb_py_key_by_name(PyObject *self, PyObject *key); /* an advanced key without names */
PyObject *gb_py_field_transpose(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *gb_py_field_reversed(PyObject *self, void *unused);

/* ---- new.c ---- */

/* Field over a new block; its dims are the plan's, as defaults. */
gb_py_field *gb_py_field_over_plan(gb_py_plan_object *plan, int zero);
/* Field in new host memory with the shape, layout, names, origin and halo of lead. */
gb_py_field *gb_py_field_like(const gb_py_field *lead, gb_py_dtype *dtype);
/* The same for the n indices `kept` of lead, in their order. */
gb_py_field *gb_py_field_of_indices(const gb_py_field *lead, const int *kept, int n,
                                    gb_py_dtype *dtype);
/* NumPy's result in a new Field; takes the reference to made, which may be NULL with an error. */
PyObject *gb_py_field_holding(gb_py_field *made, PyArrayObject *found);
PyObject *gb_py_field_empty_like(PyObject *self, PyObject *unused);
PyObject *gb_py_field_empty GB_PY_GIVEN_NAMED, *gb_py_field_zeros GB_PY_GIVEN_NAMED;
PyObject *gb_py_field_ones GB_PY_GIVEN_NAMED, *gb_py_field_full GB_PY_GIVEN_NAMED;
PyObject *gb_py_field_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);

/* ---- dlpack.c ---- */

PyObject *gb_py_field_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames);
PyObject *gb_py_field_dlpack_device(PyObject *self, PyObject *unused);

/* ---- index.c ---- */

PyObject *gb_py_field_subscript(PyObject *self, PyObject *key);
int gb_py_field_assign(PyObject *self, PyObject *key, PyObject *value);
PyObject *gb_py_field_domain(PyObject *self, void *unused);
PyObject *gb_py_field_iter(PyObject *self);
