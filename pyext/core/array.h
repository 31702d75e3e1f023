/* array.h: plain arrays. */
#pragma once

#include "plan.h"

/* Heap memory for a plan. zero: all bytes 0. */
int gb_py_plan_allocate(const gb_plan *plan, int zero, void **data);

/* An ndarray over base's memory, or with base NULL one that owns the block at data. */
PyObject *gb_py_array_over(const gb_geometry *g, gb_py_dtype *dtype, void *data, int writable, PyObject *base);

/* An ndarray over the memory of base, which it holds; steals descr. */
PyObject *gb_py_array_view(PyArray_Descr *descr, int ndim, const npy_intp *shape, const npy_intp *strides, void *data, int flags, PyObject *base);

/* An ndarray of its own for a plan of host memory. */
static inline PyObject *gb_py_array_of(gb_py_plan_object *plan, int zero) {
    void *data;
    return gb_py_plan_allocate(plan->plan, zero, &data) < 0 ? NULL : gb_py_array_over(&plan->plan->geometry, plan->dtype, data, 1, NULL);
}
