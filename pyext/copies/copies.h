/* copies.h: values into host memory, by transfer/'s kernels. */
#pragma once

#include "../core/work.h"
#include "../field/field.h"

/* An array's or a Field's memory as transfer/ sees it. All of it is borrowed, and of an array only
 * until Python code runs again, which may give it another shape or dtype: look again after that
 * (architecture.md, what must always hold). */
typedef struct gb_py_memory {
    gb_copy_view view;
    PyArray_Descr *descr;
    int readonly;
} gb_py_memory;

/* -1 with ValueError. */
static inline int gb_py_refuse_readonly(const gb_py_memory *dst) {
    if (dst->readonly) PyErr_SetString(PyExc_ValueError, "dst: it is read-only");
    return -dst->readonly;
}

/* copy_view.c. 0: obj is neither an ndarray nor a Field on the host. */
int gb_py_memory_of(PyObject *obj, gb_py_memory *m);
gb_py_memory gb_py_memory_of_field(const gb_py_field *f); /* wherever it lies */
int gb_py_descr_type(PyArray_Descr *descr);               /* a gb_type, or -1 */
int gb_py_descr_trivially_copyable(PyArray_Descr *descr); /* its elements are plain bytes */
PyObject *gb_py_without_overlap(
    PyArrayObject *target,
    PyObject *value); /* value, copied where NumPy would read what it has overwritten */

/* copyto.c. 1: done; 0: not for these kernels; -1: an error is set. */
int gb_py_convertible(PyArray_Descr *to, PyArray_Descr *from, int ndim, NPY_CASTING casting,
                      int *types); /* types of both views */
int gb_py_broadcast(gb_copy_view *src, const gb_copy_view *dst,
                    int64_t *strides); /* src with dst's shape; -1 with ValueError */
int gb_py_copy_objects(PyObject *dst, PyObject *src, NPY_CASTING casting,
                       PyObject *progress); /* arrays or Fields */

/* copy_view.c. A number of Python's own into all of dst, which may be written. 1: done; 0: it needs
 * more than a look; -1: an error is set. */
int gb_py_fill_number(const gb_copy_view *dst, PyArray_Descr *descr, PyObject *value,
                      PyObject *progress);

/* assign.c */
int gb_py_assign(
    PyObject *target,
    PyObject *value); /* target[...] = fill_value, for an array or Field that nobody else has */
