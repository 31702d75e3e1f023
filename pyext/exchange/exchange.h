/* exchange.h: tensors of other producers, read through the DLPack C exchange API or a capsule, and
 * what objects say of their memory in dicts and structs: checked before anything in them is
 * believed. */
#pragma once

#include "../field/field.h"
#include "../../arrayinterface/interface.h"

/* What a consumer of ours wants: memory of the producer and no copy of it, or memory
 * that is nobody else's. */
enum { GB_PY_SHARE_ONLY = 1, GB_PY_OWN_COPY = 2 };

/* These give a Field of the type, or with type NULL an ndarray, over a foreign tensor. */
PyObject *gb_py_from_capsule(PyTypeObject *type, PyObject *capsule, int request, int readonly);
PyObject *gb_py_from_tensor(PyTypeObject *type, DLManagedTensorVersioned *m,
                            int request); /* takes m over unless it fails */
PyObject *gb_py_from_exchange(PyTypeObject *type, PyObject *obj, const DLPackExchangeAPI *api,
                              int request);
PyObject *gb_py_from_producer(PyTypeObject *type, PyObject *obj, PyObject *method,
                              int request); /* method: obj.__dlpack__ */

/* The exchange API behind type(obj). 1: *api can be used; 0: there is none, or none of a
 * version that can be read; -1 with BufferError: what is there is no such API. */
int gb_py_exchange_find(PyObject *obj, const DLPackExchangeAPI **api);

/* Refuses objects whose values are not what lies in their memory. */
int gb_py_check_values(PyObject *obj);

/* A Field of its own memory with a Field's values: new reference; or in place of the Field. */
PyObject *gb_py_copy_of(PyObject *field);
PyObject *gb_py_copied(PyObject *field);

/* device_wrap.c. A Field over an object with __cuda_array_interface__; NotImplemented for those
 * that turn out not to have it. */
PyObject *gb_py_wrap_cuda(PyTypeObject *type, PyObject *obj);
int gb_py_has_cuda_interface(
    PyObject *obj); /* its type or itself has the attribute; -1 with an error */

/* import_typestr.c. The dtype behind a typestr and, for 'V', a descr (each may be NULL): new
 * reference. NULL with *wrong naming the key whose value is no such thing and e saying why (it may
 * say nothing), or with *wrong NULL and an exception. */
PyArray_Descr *gb_py_read_typestr(PyObject *typestr, PyObject *fields, const char **wrong,
                                  gb_error *e);

/* ---- import_interface.c: dicts and structs, made plain data for ../arrayinterface, which decides
 * ---- */

/* Memory that an object describes. */
typedef struct gb_py_described {
    PyObject *obj;
    const char *door;   /* the argument and its attribute, for messages */
    PyObject *mistyped; /* the exception where a value is no plain data; NULL: ValueError */
    gb_interface memory;
    PyArray_Descr *descr; /* new reference */
    PyObject *owner;      /* what keeps the memory alive; new reference */
    int readonly;
    int64_t stream; /* of a CUDA array interface; 0: none */
} gb_py_described;

/* Fills in *t, which was zeroed, from a __cuda_array_interface__: 0, or -1 with an error.
 * gb_py_described_clear is called in both cases. */
int gb_py_read_cuda_interface(gb_py_described *t, PyObject *obj, PyObject *interface);
void gb_py_described_clear(gb_py_described *t);

/* A Field of the type, or with type NULL an ndarray, over the memory of obj. */
PyObject *gb_py_wrap_interface(PyTypeObject *type, PyObject *obj, PyObject *interface, int request);
PyObject *gb_py_wrap_struct(PyTypeObject *type, PyObject *obj, PyObject *capsule,
                            int request); /* NotImplemented: no such struct */

/* ---- from any object to its memory. ---- */

/* A Field of the type, or with type NULL an ndarray, over an object's memory, by the first way in
 * that it offers; never a copy. */
PyObject *gb_py_wrap(PyTypeObject *type, PyObject *obj);
PyObject *gb_py_wrap_for(PyTypeObject *type, PyObject *obj, int request);
PyObject *gb_py_wrap_tensor(PyTypeObject *type, PyObject *obj, int request); /* by DLPack only */
PyObject *gb_py_unknown_to_numpy(
    PyObject *obj); /* by the ways that NumPy does not go; NotImplemented: there is none */

/* An array of whatever class, unless some of it is masked: no memory here could keep a mask. New
 * reference. */
PyObject *gb_py_unmasked(PyObject *obj);
/* Values, of which NumPy would make arrays by copying, and classes, whose attributes are not those
 * of an object. */
int gb_py_is_value(PyObject *obj);

/* values.c. What NumPy may take values from in place of obj, which would believe any array
 * interface and make references of foreign bytes: the memory that was checked, else obj itself. New
 * reference. */
PyObject *gb_py_values_of(PyObject *obj);

/* A number, or an array without indices. */
int gb_py_is_one_value(PyObject *obj);
/* One element of the dtype with that value, converted as by assignment: the value's own code may
 * run. */
PyArrayObject *gb_py_element(PyArray_Descr *descr, PyObject *value);

/* The dims, origin and halo that obj carries, for the Field or array over it: 1 with new
 * references (None where it does not say), 0 without any, -1 with an error. */
int gb_py_inherited_metadata(PyObject *obj, PyObject *wrapped, PyObject *inherited[3]);
