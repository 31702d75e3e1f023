/* wrap.h: from any object to its memory. */
#ifndef GRIDBUF_WRAP_H
#define GRIDBUF_WRAP_H

#include "field.h"

/* Memory as somebody described it. Everything is borrowed from the caller, who copies what an array, a dict or a tensor
 * says: making a Field runs Python code, which can change it. */
typedef struct gb_foreign {
    PyArray_Descr *descr;
    int ndim;
    const int64_t *shape, *strides;   /* strides in bytes */
    char *data;
    int readonly;
    PyObject *owner;   /* what keeps the memory alive, or NULL: */
    void *block;       /* the heap block it lies in */
    gb_place place;
} gb_foreign;

/* field_over.c: a Field of the type over the memory; with type NULL an ndarray. */
PyObject *gb_over_memory(PyTypeObject *type, const gb_foreign *memory);
PyObject *gb_over_field(PyTypeObject *type, const gb_field *from);

/* wrap.c: the same over an object's memory, by the first way in that it offers; never a copy. */
PyObject *gb_wrap(PyTypeObject *type, PyObject *obj);
PyObject *gb_wrap_tensor(PyTypeObject *type, PyObject *obj, int wishes);   /* by DLPack only */
PyObject *gb_wrap_interface(PyTypeObject *type, PyObject *obj, PyObject *interface);
PyObject *gb_wrap_struct(PyTypeObject *type, PyObject *obj, PyObject *capsule);   /* NotImplemented: no such struct */
PyObject *gb_host_array(PyObject *self, PyObject *obj);

/* The dtype behind a typestr and, for 'V', a descr (each may be NULL): new reference. NULL with *wrong naming the key whose
 * value is no such thing, or with *wrong NULL and an exception. */
PyArray_Descr *gb_read_typestr(PyObject *typestr, PyObject *fields, const char **wrong);
PyObject *gb_read_typestr_py(PyObject *self, PyObject *args);

/* What NumPy may take values from in place of obj, which would believe any array interface and make references of foreign
 * bytes: the memory that was checked, else obj itself. New reference. */
PyObject *gb_values(PyObject *obj);
PyObject *gb_values_py(PyObject *self, PyObject *obj);

/* The dims and origin that obj carries, for the Field or array over it: 1 with new
 * references (None where it does not say), 0 without any, -1 with an error. */
int gb_carried(PyObject *obj, PyObject *wrapped, PyObject **dims, PyObject **origin);

#endif
