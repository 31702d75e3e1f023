/* elementwise.h: a ufunc's own loop over arrays of one shape, without NumPy's iterator, which
 * copies rows that are shorter than its buffer of 8192 elements: those of the interior of a field.
 */
#pragma once

#include "../core/dtype.h"

/* An operand: element 0, bytes from one element to the next along each index (0: repeated), and
 * NumPy's type number in the machine's byte order. Type -1: misaligned elements, or another byte
 * order. */
typedef struct gb_py_elements {
    char *data;
    const int64_t *strides;
    int type;
} gb_py_elements;

#define GB_PY_ELEMENTWISE_INPUTS 2

gb_py_elements gb_py_elements_at(char *data, const int64_t *strides, int ndim, PyArray_Descr *descr,
                                 uintptr_t alignment);

/* Of an array whose shape the caller has compared. */
gb_py_elements gb_py_elements_of_array(PyArrayObject *array);

/* A number as an operand of that type, in room of 16 bytes; `strides` are zeros. Type -1: NumPy may
 * warn of the conversion. */
gb_py_elements gb_py_elements_of_number(PyObject *number, int type, void *room,
                                        const int64_t *strides);

/* out = ufunc(*in). 1: done, and floating-point errors were reported to NumPy. 0: nothing has been
 * written, and NumPy has to compute: the ufunc's loop is for other types, operands overlap, or rows
 * are not contiguous. -1: an error is set. */
int gb_py_elementwise_into(PyObject *ufunc, const gb_py_elements *in, int n,
                           const gb_py_elements *out, const int64_t *shape, int ndim);

/* The same of arrays that broadcast to the array out, and numbers. */
int gb_py_elementwise_arrays(PyObject *ufunc, PyObject *const *in, int n, PyObject *out);
