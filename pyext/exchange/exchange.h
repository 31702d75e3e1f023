/* exchange.h: memory of other libraries: DLPack tensors, array interfaces in dicts and structs,
 * buffers. All is checked before it is used. */
#pragma once

#include "../field/field.h"
#include "../../arrayinterface/interface.h"

/* Requests of a consumer: the producer's memory without a copy, or memory of its own. */
enum { GB_PY_SHARE_ONLY = 1, GB_PY_OWN_COPY = 2 };

/* Make a Field of the type, or with type NULL an ndarray, over a foreign tensor. */
PyObject *gb_py_from_capsule(PyTypeObject *type, PyObject *capsule, int request, int readonly);
/* Takes m over unless it fails. */
PyObject *gb_py_from_tensor(PyTypeObject *type, DLManagedTensorVersioned *m, int request);
PyObject *gb_py_from_exchange(PyTypeObject *type, PyObject *obj, const DLPackExchangeAPI *api,
                              int request);
/* method: obj.__dlpack__ */
PyObject *gb_py_from_producer(PyTypeObject *type, PyObject *obj, PyObject *method, int request);

/* Find the exchange API of type(obj). 1: *api can be used; 0: none, or none of a known version; -1
 * with BufferError: the attribute is no such API. */
int gb_py_exchange_find(PyObject *obj, const DLPackExchangeAPI **api);

/* Copy a Field: new reference; gb_py_copied takes the reference to the original. */
PyObject *gb_py_copy_of(PyObject *field);
PyObject *gb_py_copied(PyObject *field);

/* device_wrap.c. A Field over an object with __cuda_array_interface__; NotImplemented:
 * obj has none. */
PyObject *gb_py_wrap_cuda(PyTypeObject *type, PyObject *obj);
/* Whether obj or its type has the attribute; -1 with an error. */
int gb_py_has_cuda_interface(PyObject *obj);

/* ---- import_interface.c: dicts and structs made plain data, which ../arrayinterface checks ----
 */

/* Memory described by an object. */
typedef struct gb_py_described {
    PyObject *obj;
    const char *door;   /* the argument and its attribute, for messages */
    PyObject *mistyped; /* the exception where a value is no plain data; NULL: ValueError */
    gb_interface memory;
    PyArray_Descr *descr; /* new reference */
    PyObject *owner;      /* keeps the memory alive; new reference */
    int readonly;
    int64_t stream; /* stream of a CUDA array interface; 0: none */
} gb_py_described;

/* Fills in *t, which was zeroed, from a __cuda_array_interface__: 0, or -1 with an error.
 * gb_py_described_clear is called in both cases. */
int gb_py_read_cuda_interface(gb_py_described *t, PyObject *obj, PyObject *interface);
void gb_py_described_clear(gb_py_described *t);

/* A Field of the type, or with type NULL an ndarray, over the memory of obj. */
PyObject *gb_py_wrap_interface(PyTypeObject *type, PyObject *obj, PyObject *interface, int request);
/* NotImplemented: capsule holds no such struct. */
PyObject *gb_py_wrap_struct(PyTypeObject *type, PyObject *obj, PyObject *capsule, int request);

/* ---- wrap.c: from any object to its memory ---- */

/* A Field of the type, or with type NULL an ndarray, over an object's memory, by the first way in
 * that it offers; never a copy. */
PyObject *gb_py_wrap(PyTypeObject *type, PyObject *obj);
PyObject *gb_py_wrap_for(PyTypeObject *type, PyObject *obj, int request);
PyObject *gb_py_wrap_tensor(PyTypeObject *type, PyObject *obj, int request); /* By DLPack only. */
/* By the protocols that NumPy does not read; NotImplemented: the object has none. */
PyObject *gb_py_unknown_to_numpy(PyObject *obj);

/* An array of any class, unless elements are masked: gridbuf's memory has no mask. New reference.
 */
PyObject *gb_py_unmasked(PyObject *obj);
/* Whether obj is a value, which NumPy would copy, or a class, whose attributes are not those of an
 * object. */
int gb_py_is_value(PyObject *obj);

/* values.c: object for NumPy to take values from in place of obj: its memory, checked, else obj
 * itself. NumPy would trust any array interface, and make references of foreign bytes. New
 * reference. */
PyObject *gb_py_values_of(PyObject *obj);

/* Whether obj is a number, or an array without indices. */
int gb_py_is_one_value(PyObject *obj);
/* One element of the dtype, converted from value as by assignment, which may run the value's code.
 */
PyArrayObject *gb_py_element(PyArray_Descr *descr, PyObject *value);

/* The dims, origin and halo that obj carries, for the Field or array over it: 1 with new
 * references (None where it does not say), 0 without any, -1 with an error. */
int gb_py_inherited_metadata(PyObject *obj, PyObject *wrapped, PyObject *inherited[3]);
