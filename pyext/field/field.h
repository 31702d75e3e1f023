/* field.h: gridbuf.Field: memory that remembers its dimensions, origin and halo. */
#pragma once

#include "../../dlpack/dlpack.h"
#include "../core/memory.h"
#include "../core/driver.h"

/* Views are made often, and most have few indices: their lists, the origin and the halo need no
 * allocation of their own. */
#define GB_PY_FIELD_INLINE 4
#define GB_PY_FIELD_ROOM ((28 * GB_PY_FIELD_INLINE + 7) / 8 + 3 * GB_PY_FIELD_INLINE)

typedef struct gb_py_field {
    PyObject_HEAD
    gb_geometry geometry; /* its lists are the plan's, or our own */
    char *data;           /* element 0 */
    gb_py_dtype *dtype;
    gb_py_plan_object *plan; /* NULL until somebody asks, for views and wrapped memory */
    void *lists;             /* our own lists, in `room` where they fit, or NULL */
    void *block;             /* the heap block we share, or NULL */
    PyObject *owner;         /* the Python object whose memory this is, or NULL */
    int64_t *origin, *halo;  /* index order, halo as low, high pairs; NULL when not given */
    uint8_t dims_given, readonly;
    gb_py_location location;
    PyObject *cupy; /* the cupy array over it, once somebody asked, or NULL */
    PyObject *weakrefs;
    int64_t room[GB_PY_FIELD_ROOM];
} gb_py_field;

/* The types differ in size, so that assigning to __class__ cannot turn a Field in one kind of
 * memory into another's. */
#define GB_PY_FIELD_SIZE(kind) ((int)(sizeof(gb_py_field) + (kind) * sizeof(void *)))

extern PyTypeObject *gb_py_FieldType, *gb_py_HostFieldType, *gb_py_DeviceFieldType,
    *gb_py_ManagedFieldType;
int gb_py_is_field(PyObject *obj); /* core.c */
/* A Field in memory of the heap's kind whose class nobody derived. */
#define gb_py_is_plain_field(obj) \
    (Py_TYPE(obj) == gb_py_HostFieldType && ((gb_py_field *)(obj))->location.kind == GB_PY_HEAP)

/* The names that were given, or None. */
static inline PyObject *gb_py_dims_given(const gb_py_field *f) {
    return f->dims_given ? gb_py_dims_tuple(f->geometry.dims, f->geometry.ndim)
                         : Py_NewRef(Py_None);
}

/* A Field's own block of the driver, or NULL. Borrowed. */
static inline gb_cuda_block *gb_py_field_block(const gb_py_field *f) {
    return f->owner && gb_py_is_block(f->owner) ? ((gb_py_block_object *)f->owner)->block : NULL;
}

/* core.c */
/* The driver's block that an object's memory lies in, or NULL: through the bases of arrays.
 * Borrowed. */
gb_py_block_object *gb_py_block_behind(PyObject *obj);
void gb_py_field_dealloc(PyObject *self);
gb_py_field *gb_py_field_alloc(PyTypeObject *type,
                               int own_ndim); /* own_ndim >= 0: room for lists of its own */
gb_py_field *gb_py_field_on_block(const gb_geometry *g, gb_py_dtype *dtype,
                                  void *block); /* so laid out; takes the block of the heap */
int gb_py_field_room(gb_py_field *f, int want_origin, int want_halo);
int gb_py_field_share(gb_py_field *f, const gb_py_field *from); /* hold the same memory */
int gb_py_field_set_lists(gb_py_field *f, const int64_t *origin, const int64_t *halo,
                          int n); /* of n indices, or NULL */
int gb_py_field_copy_meta(gb_py_field *f, const gb_py_field *from);
int gb_py_field_set_meta(gb_py_field *f, const gb_py_meta *meta);
gb_py_plan_object *gb_py_field_plan(gb_py_field *f); /* a view's is worked out when somebody asks
                                                        for it. Borrowed; NULL with an error */

/* field_new.c */
gb_py_field *gb_py_field_over_plan(
    gb_py_plan_object *plan, int zero); /* over a new block; its dims are the plan's, as defaults */
gb_py_field *gb_py_field_like(
    const gb_py_field *lead,
    gb_py_dtype *dtype); /* new host memory with its shape, layout, names, origin and halo */
/* The same of the n indices `kept` of lead, in their order. */
gb_py_field *gb_py_field_of_indices(const gb_py_field *lead, const int *kept, int n,
                                    gb_py_dtype *dtype);
PyObject *gb_py_field_empty_like(PyObject *self, PyObject *unused);
PyObject *gb_py_field_empty GB_PY_GIVEN_NAMED, *gb_py_field_zeros GB_PY_GIVEN_NAMED;
PyObject *gb_py_field_ones GB_PY_GIVEN_NAMED, *gb_py_field_full GB_PY_GIVEN_NAMED;

/* field_reduce.c */
/* NumPy's result in a new Field; takes the reference to made, which may be NULL with an error. */
PyObject *gb_py_field_holding(gb_py_field *made, PyArrayObject *found);
/* A reduction by of_numpy(array, axis); NotImplemented: it needs thought. */
PyObject *gb_py_field_reduced(PyObject *of_numpy, PyObject *field, PyObject *axis);

/* exchange/field_wrap.c */
PyObject *gb_py_field_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);

/* field_index.c */
PyObject *gb_py_field_subscript(PyObject *self, PyObject *key);
int gb_py_field_assign(PyObject *self, PyObject *key, PyObject *value);
PyObject *gb_py_field_domain(PyObject *self, void *unused);
PyObject *gb_py_field_transpose(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *gb_py_field_reversed(PyObject *self, void *unused);
PyObject *gb_py_field_iter(PyObject *self);

/* names.c: by name. */
int gb_py_both_named(PyObject *target,
                     PyObject *values); /* both say what their indices mean; -1 with an error */
PyObject *gb_py_fitted(PyObject *target, PyObject *values,
                       const char *arg); /* values for target, by name where both have names */
PyObject *gb_py_key_by_name(PyObject *self, PyObject *key); /* an advanced key without names */

/* type.c: the Field type over memory there, when `asked` was asked for; NULL with a TypeError. */
PyTypeObject *gb_py_type_for(PyTypeObject *asked, gb_py_location location);

/* host_access.c: before the host looks at a Field's memory: refuses device memory, waits for
 * managed memory; -1 with an error. */
int gb_py_require_host_access(gb_py_field *f);

/* Memory as somebody described it. Everything is borrowed from the caller, who copies what an
 * array, a dict or a tensor says: making a Field runs Python code, which can change it. */
typedef struct gb_py_imported {
    PyArray_Descr *descr;
    int ndim;
    const int64_t *shape, *strides; /* strides in bytes */
    char *data;
    int readonly;
    PyObject *owner; /* what keeps the memory alive, or NULL: */
    void *block;     /* the heap block it lies in */
    gb_py_location location;
} gb_py_imported;

/* over.c: a Field of the type over the memory; with type NULL an ndarray. */
PyObject *gb_py_from_memory(PyTypeObject *type, const gb_py_imported *memory);
PyObject *gb_py_from_field(PyTypeObject *type, const gb_py_field *from);

/* class.c: subclasses. */
int gb_py_field_inherit(gb_py_field *f, const gb_py_field *from);
PyObject *gb_py_field_as(PyTypeObject *type, gb_py_field *from);
PyObject *gb_py_field_around(PyObject *type, PyObject *field);
PyObject *gb_py_field_get_class(PyObject *self, void *unused);
int gb_py_field_set_class(PyObject *self, PyObject *value, void *unused);

/* buffer.c */
int gb_py_field_getbuffer(PyObject *self, Py_buffer *view, int flags);
int gb_py_field_expressible(
    const gb_py_field *f,
    const char *interface); /* -1 with AttributeError: its dtype has no typestr */
PyObject *gb_py_field_interface(const gb_py_field *f,
                                void *address); /* the keys that both array interfaces share */
PyObject *gb_py_field_array_interface(PyObject *self, void *unused);
PyObject *gb_py_field_numpy(PyObject *self, PyObject *unused);

/* device.c: a cupy array over the same memory, the same one each time. New reference. */
PyObject *gb_py_cupy_over(gb_py_field *f);

/* field_dlpack.c */
int gb_py_field_exportable(const gb_py_field *f); /* -1 with BufferError */
DLManagedTensorVersioned *gb_py_field_tensor(gb_py_field *f, DLDevice device, uint64_t flags);
PyObject *gb_py_field_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames);
PyObject *gb_py_field_dlpack_device(PyObject *self, PyObject *unused);

/* exchange.c: the C exchange API on the types. */
