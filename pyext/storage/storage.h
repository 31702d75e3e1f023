/* storage.h: the base of gridbuf.storage's classes: buffers and the Meta of their indices. C has
 * the fast paths of host storages, gridbuf/storage/ everything else. */
#pragma once

#include "../core/memory.h"
#include "../named/keys.h"
#include "../named/operators.h"
#include "../core/upcall.h"

#define GB_PY_STORAGE_AXES 3

typedef struct gb_py_storage {
    PyObject_HEAD
    PyObject *host, *dev; /* an array or None */
    PyObject *meta;       /* a gridbuf.storage.meta.Meta, interned: identity is equality */
    PyObject *pair;       /* BufferPair of a software-managed storage, or None */
    PyObject *weakrefs;
} gb_py_storage;

extern PyTypeObject *gb_py_StorageType;
#define gb_py_is_storage(obj) \
    (Py_TYPE(obj) == gb_py_last_storage_type || PyObject_TypeCheck(obj, gb_py_StorageType))
/* Type of the newest storage: most programs use one class. */
extern PyTypeObject *gb_py_last_storage_type;

/* record.c */
PyObject *gb_py_storage_new(PyTypeObject *type, PyObject *host, PyObject *dev, PyObject *meta,
                            PyObject *pair);
int gb_py_is_own_dtype(PyArray_Descr *descr);
/* The ndarray of a storage without any other buffer to read or to mark. Borrowed, or
 * NULL. */
PyArrayObject *gb_py_storage_host(PyObject *obj);
/* The host ndarray of a CPUStorage, derived classes excluded; an error may be set. */
PyArrayObject *gb_py_plain_storage(PyObject *obj);
/* The axes of a Meta, at most three ASCII letters and a 0; -1 with an error. */
int gb_py_meta_axes(PyObject *meta, char axes[GB_PY_STORAGE_AXES + 1]);

/* interface.c */
PyObject *gb_py_storage_host_entry(PyObject *self, PyObject *unused);

/* index.c */

/* The Meta of a view of n indices, remembered. */
PyObject *gb_py_cut_meta(PyObject *meta, int n, const gb_py_cut *cuts);
PyObject *gb_py_storage_subscript(PyObject *self, PyObject *key);
int gb_py_storage_assign(PyObject *self, PyObject *key, PyObject *value);
PyObject *gb_py_storage_inside(PyObject *self, PyObject *unused);

/* request.c */

/* NumPy's result in a new storage of this class with this Meta; NotImplemented for a dtype that
 * storages do not support. */
PyObject *gb_py_storage_holding(PyTypeObject *type, PyObject *meta, PyArrayObject *found);
