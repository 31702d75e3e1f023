/* storage.h: what gridbuf.storage's classes are built on: the buffers, and what the indices mean. The quick ways of host
 * storages are here; everything that needs thought is Python's (gridbuf/storage/). */
#ifndef GRIDBUF_STORAGE_H
#define GRIDBUF_STORAGE_H

#include "../core/array.h"

#define GB_STORAGE_AXES 3

typedef struct gb_storage {
    PyObject_HEAD
    PyObject *host, *dev;   /* an array or None */
    PyObject *meta;         /* a gridbuf.storage.meta.Meta: one object per content, so that identity is equality */
    PyObject *pair;         /* of a software-managed storage, or None */
    PyObject *weakrefs;
} gb_storage;

/* What a key does to one index of that size. */
typedef struct gb_cut { npy_intp start, step, length, size; int keep; } gb_cut;

extern PyTypeObject *gb_StorageType;
int gb_storage_init(PyObject *module);

/* record.c */
PyObject *gb_storage_new(PyTypeObject *type, PyObject *host, PyObject *dev, PyObject *meta, PyObject *pair);
PyObject *gb_storage_of_plan(PyObject *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *gb_storage_told(PyObject *self, PyObject *unused);
PyObject *gb_is_constant(PyObject *self, PyObject *obj);
/* Its memory is an ndarray and nothing else: no other buffer has to be asked or told. Borrowed, or NULL. */
PyArrayObject *gb_storage_host(PyObject *obj);
/* The axes of a Meta, at most three ASCII letters and a 0; -1 with an error. */
int gb_meta_axes(PyObject *meta, char axes[GB_STORAGE_AXES + 1]);

/* cut.c */
enum { GB_KEY_ERROR = -1, GB_KEY_OTHER, GB_KEY_VIEW, GB_KEY_ELEMENT };
int gb_storage_cuts(PyObject *key, PyArrayObject *array, gb_cut *cuts);
PyObject *gb_cut_array(PyArrayObject *array, const gb_cut *cuts);   /* before Python code can run: the array may change */
PyObject *gb_cut_meta(PyObject *meta, int n, const gb_cut *cuts);

/* index.c */
PyObject *gb_storage_subscript(PyObject *self, PyObject *key);
PyObject *gb_storage_item(PyObject *self, Py_ssize_t i);
int gb_storage_assign(PyObject *self, PyObject *key, PyObject *value);
PyObject *gb_storage_inside(PyObject *self, PyObject *unused);

#endif
