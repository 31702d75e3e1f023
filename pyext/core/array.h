/* array.h: plain arrays. */
#pragma once

#include "../../alloc/strides.h"
#include "plan.h"

/* Heap memory for a plan. zero: all bytes 0. */
int gb_py_plan_allocate(const gb_plan *plan, int zero, void **data);

/* An ndarray over base's memory, or with base NULL one that owns the block at data. */
PyObject *gb_py_array_over(const gb_geometry *g, gb_py_dtype *dtype, void *data, int writable,
                           PyObject *base);

/* An ndarray over the memory of base, which it holds. */
PyObject *gb_py_array_view(PyArray_Descr *descr, int ndim, const npy_intp *shape,
                           const npy_intp *strides, void *data, int flags, PyObject *base);

/* The bytes from the lowest element to the end of the highest; 0: there are none. */
static inline int gb_py_extent(PyArrayObject *a, intptr_t *low, intptr_t *end) {
    return gb_extent(PyArray_BYTES(a), (int64_t *)PyArray_SHAPE(a), (int64_t *)PyArray_STRIDES(a),
                     PyArray_NDIM(a), PyArray_ITEMSIZE(a), low, end);
}

/* An ndarray of its own for a plan of host memory. */
static inline PyObject *gb_py_array_of(gb_py_plan_object *plan, int zero) {
    void *data;
    return gb_py_plan_allocate(plan->plan, zero, &data) < 0
               ? NULL
               : gb_py_array_over(&plan->plan->geometry, plan->dtype, data, 1, NULL);
}
