/* import_interface.h: what objects say of their memory in dicts and structs, made plain data for ../arrayinterface, which decides. */
#ifndef GRIDBUF_IMPORT_INTERFACE_H
#define GRIDBUF_IMPORT_INTERFACE_H

#include "../../arrayinterface/interface.h"
#include "wrap.h"

/* Memory that an object describes. */
typedef struct gb_py_described {
    PyObject *obj;
    const char *door;          /* the attribute that describes it */
    gb_interface memory;
    PyArray_Descr *descr;      /* new reference */
    PyObject *owner;           /* what keeps the memory alive; new reference */
    int readonly;
    int64_t stream;            /* of a CUDA array interface; 0: none */
} gb_py_described;

/* Fills in *t, which was zeroed, from a __cuda_array_interface__: 0, or -1 with an error. gb_py_forget is called in both cases. */
int gb_py_read_cuda_interface(gb_py_described *t, PyObject *obj, PyObject *interface);
void gb_py_forget(gb_py_described *t);

/* The dtype behind a typestr and, for 'V', a descr (each may be NULL): new reference. NULL with *wrong naming the key whose
 * value is no such thing and e saying why (it may say nothing), or with *wrong NULL and an exception. */
PyArray_Descr *gb_py_read_typestr(PyObject *typestr, PyObject *fields, const char **wrong, gb_error *e);

#endif
