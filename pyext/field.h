/* field.h: gridbuf.Field: memory that remembers its dimensions, origin and halo. */
#ifndef GRIDBUF_FIELD_H
#define GRIDBUF_FIELD_H

#include "../dlpack/dlpack.h"
#include "array.h"

typedef struct gb_field {
    PyObject_HEAD
    gb_geometry geometry;    /* its lists are the plan's, or our own */
    char *data;              /* element 0 */
    gb_dtype *dtype;
    gb_plan_object *plan;    /* NULL until somebody asks, for views and wrapped memory */
    void *lists;             /* our own lists, or NULL */
    void *block;             /* the heap block we share, or NULL */
    PyObject *owner;         /* the Python object whose memory this is, or NULL */
    int64_t *origin, *halo;  /* index order, halo as low, high pairs; NULL when not given */
    uint8_t dims_given, readonly;
    gb_place place;
    PyObject *cupy;          /* the cupy array over it, once somebody asked, or NULL */
    PyObject *weakrefs;
} gb_field;

/* The types differ in size, so that assigning to __class__ cannot turn a Field in one kind of memory into another's. */
#define GB_FIELD_SIZE(kind) ((int)(sizeof(gb_field) + (kind) * sizeof(void *)))

extern PyTypeObject *gb_FieldType, *gb_HostFieldType, *gb_DeviceFieldType, *gb_ManagedFieldType;
int gb_field_init(PyObject *module);
void gb_field_dealloc(PyObject *self);
#define gb_is_field(obj) PyObject_TypeCheck(obj, gb_FieldType)

/* field_new.c */
gb_field *gb_field_alloc(PyTypeObject *type, int own_ndim);   /* own_ndim >= 0: room for lists of its own */
int gb_field_room(gb_field *f, int want_origin, int want_halo);
int gb_field_share(gb_field *f, const gb_field *from);        /* hold the same memory */
int gb_field_copy_meta(gb_field *f, const gb_field *from);
int gb_field_set_meta(gb_field *f, const gb_meta *meta);
PyObject *gb_field_twin(PyObject *self, PyObject *unused);
PyObject *gb_field_empty(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *gb_field_zeros(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *gb_field_ones(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *gb_field_full(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/* field_wrap.c */
PyObject *gb_field_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);

/* field_index.c */
PyObject *gb_field_subscript(PyObject *self, PyObject *key);
int gb_field_assign(PyObject *self, PyObject *key, PyObject *value);
PyObject *gb_field_item(PyObject *self, Py_ssize_t i);
PyObject *gb_field_domain(PyObject *self, void *unused);
PyObject *gb_field_transpose(PyObject *self, PyObject *dims);

/* field_buffer.c */
int gb_field_getbuffer(PyObject *self, Py_buffer *view, int flags);
int gb_field_expressible(const gb_field *f, const char *interface);   /* -1 with AttributeError: its dtype has no typestr */
PyObject *gb_field_interface(const gb_field *f, void *address);         /* the keys that both array interfaces share */
PyObject *gb_field_array_interface(PyObject *self, void *unused);
PyObject *gb_field_numpy(PyObject *self, PyObject *unused);
PyObject *gb_field_array(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);

/* field_dlpack.c */
int gb_field_dlpack_init(void);
int gb_field_exportable(const gb_field *f);   /* -1 with BufferError */
DLManagedTensorVersioned *gb_field_tensor(gb_field *f, DLDevice device, uint64_t flags);
PyObject *gb_field_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *gb_field_dlpack_device(PyObject *self, PyObject *unused);
int gb_dlpack_pair(PyObject *obj, const char *arg, int64_t *pair);   /* a pair of ints that a consumer passed */

/* exchange.c: the C exchange API on the types. */
int gb_exchange_init(void);

/* import_dlpack.c: an ndarray over a capsule's tensor. */
PyObject *gb_import_capsule(PyObject *self, PyObject *capsule);

#endif
