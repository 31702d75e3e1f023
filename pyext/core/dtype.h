/* dtype.h: properties of a dtype that the protocols need, read from NumPy once. */
#pragma once

#include "../../alloc/elements.h"
#include "common.h"

typedef struct gb_py_dtype {
    PyObject_HEAD
    PyArray_Descr *descr;
    int64_t itemsize;
    uintptr_t alignment; /* NumPy's alignment, a power of two */
    PyObject *typestr;   /* '<f8', or NULL: no array interface */
    PyObject *fields;    /* dtype.descr of a structured dtype, or NULL */
    PyObject *names; /* names of a structured dtype when this was read: dtype.names can be set */
    char *format;    /* PEP 3118, or NULL: no buffer protocol */
    uint8_t dl_code, dl_bits, dl_ok;
} gb_py_dtype;

/* The gb_type of elements in either byte order, GB_RAW where there is none; and back, to NumPy's
 * number. */
uint8_t gb_py_type_of_descr(const PyArray_Descr *descr);
int gb_py_npy_type(int type);

/* The record of a dtype without sub-shape. New reference, or NULL with an error. */
gb_py_dtype *gb_py_dtype_of(PyArray_Descr *descr);

gb_py_dtype *gb_py_dtype_of_type(int type); /* record of a gb_type. New reference. */

/* Whether a type or a dtype object cannot change its meaning. */
int gb_py_dtype_constant(PyObject *obj);

/* Record of any argument of np.dtype, and the sub-shape in it (at most room entries; *n of them).
 * Refuses dtypes that hold Python objects. */
gb_py_dtype *gb_py_dtype_parse(PyObject *obj, int64_t *sub_shape, int room, int *n);

/* Python's numbers as elements. 1: done; 0: the value does not fit simply. */
int gb_py_put_int(char *to, uint8_t type, long long v);
int gb_py_put_float(char *to, uint8_t type, double v);
/* value: an exact float or int; other types never fit */
int gb_py_put_number(char *to, uint8_t type, PyObject *value);
