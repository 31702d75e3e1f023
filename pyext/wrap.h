/* wrap.h: from any object to its memory. */
#ifndef GRIDBUF_WRAP_H
#define GRIDBUF_WRAP_H

#include "field.h"

/* Memory as somebody described it. Everything is borrowed. */
typedef struct gb_foreign {
    PyArray_Descr *descr;
    int ndim;
    const int64_t *shape, *strides;   /* strides in bytes */
    char *data;
    int readonly;
    PyObject *owner;   /* what keeps the memory alive */
    gb_place place;
} gb_foreign;

/* A Field of the type over the memory; with type NULL an ndarray. */
PyObject *gb_over_memory(PyTypeObject *type, const gb_foreign *memory);
PyObject *gb_over_field(PyTypeObject *type, const gb_field *from);

/* The same over an object's memory, by the first way in that it offers; never a copy. */
PyObject *gb_wrap(PyTypeObject *type, PyObject *obj);
PyObject *gb_wrap_tensor(PyTypeObject *type, PyObject *obj, int wishes);   /* by DLPack only */
PyObject *gb_wrap_interface(PyTypeObject *type, PyObject *obj, PyObject *interface);
PyObject *gb_host_array(PyObject *self, PyObject *obj);

/* The dims and origin that obj carries, for the Field or array over it: 1 with new
 * references (None where it does not say), 0 without any, -1 with an error. */
int gb_carried(PyObject *obj, PyObject *wrapped, PyObject **dims, PyObject **origin);

#endif
