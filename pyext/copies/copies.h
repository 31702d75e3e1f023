/* copies.h: copies and fills of host memory by transfer/'s kernels. */
#pragma once

#include "../core/work.h"
#include "../field/field.h"

/* Memory of an array or a Field as transfer/ sees it. Pointers are borrowed; those of an array hold
 * only until Python code runs, which may change its shape or dtype (architecture.md, invariant 12).
 */
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

/* host.c: 0 where obj is neither an ndarray nor a Field on the host. */
int gb_py_memory_of(PyObject *obj, gb_py_memory *m);
gb_py_memory gb_py_memory_of_field(const gb_py_field *f); /* wherever it lies */
int gb_py_descr_type(PyArray_Descr *descr);               /* a gb_type, or -1 */
int gb_py_descr_trivially_copyable(PyArray_Descr *descr); /* Whether elements are plain bytes. */
/* value, or a copy where NumPy would overwrite elements of it before reading them */
PyObject *gb_py_without_overlap(PyArrayObject *target, PyObject *value);

/* 1: done; 0: no kernel for these dtypes; -1: an error is set. */
/* types of both views */
int gb_py_convertible(PyArray_Descr *to, PyArray_Descr *from, int ndim, NPY_CASTING casting,
                      int *types);
/* src with dst's shape; -1 with ValueError */
int gb_py_broadcast(gb_copy_view *src, const gb_copy_view *dst, int64_t *strides);
/* arrays or Fields */
int gb_py_copy_objects(PyObject *dst, PyObject *src, NPY_CASTING casting, PyObject *progress);

/* Fill all of dst, which may be written, with a Python number. 1: done; 0: the number does not fit
 * simply; -1: an error is set. */
int gb_py_fill_number(const gb_copy_view *dst, PyArray_Descr *descr, PyObject *value,
                      PyObject *progress);

/* assign.c */
/* target[...] = fill_value, for a new array or Field */
int gb_py_assign(PyObject *target, PyObject *value);
