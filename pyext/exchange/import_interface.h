/* import_interface.h: what objects say of their memory in dicts and structs, made plain data for ../arrayinterface, which decides. */
#pragma once

#include "../../arrayinterface/interface.h"
#include "../field/field.h"

/* Memory that an object describes. */
typedef struct gb_py_described {
    PyObject *obj;
    const char *door;          /* the argument and its attribute, for messages */
    PyObject *mistyped;        /* the exception where a value is no plain data; NULL: ValueError */
    gb_interface memory;
    PyArray_Descr *descr;      /* new reference */
    PyObject *owner;           /* what keeps the memory alive; new reference */
    int readonly;
    int64_t stream;            /* of a CUDA array interface; 0: none */
} gb_py_described;

/* Fills in *t, which was zeroed, from a __cuda_array_interface__: 0, or -1 with an error. gb_py_forget is called in both cases. */
int gb_py_read_cuda_interface(gb_py_described *t, PyObject *obj, PyObject *interface);
void gb_py_forget(gb_py_described *t);

/* A Field of the type, or with type NULL an ndarray, over the memory of obj. */
PyObject *gb_py_wrap_interface(PyTypeObject *type, PyObject *obj, PyObject *interface, int request);
PyObject *gb_py_wrap_struct(PyTypeObject *type, PyObject *obj, PyObject *capsule, int request);   /* NotImplemented: no such struct */
