/* memory.h: blocks of the heap for Python objects, observers of blocks, and plain arrays. */
#pragma once

#include "common.h"
#include "plan.h"
#include "references.h"
#include "../../alloc/strides.h"

/* Take a block; -1 with MemoryError. *fresh: its bytes are zero. */
int gb_py_allocate(const gb_heap_layout *want, void **data, int *fresh);

/* The NumPy memory handler whose free returns a block to the heap. Borrowed. */
extern PyObject *gb_py_handler;
/* live count of blocks that NumPy took through the handler; atomic */
extern int64_t gb_py_numpy_blocks;

/* ---- observers of gridbuf's own blocks: GRIDBUF_TRACE and gridbuf.watch ---- */

/* GRIDBUF_TRACE=1: every block remembers the Python line that allocated it */
#define GB_PY_TRACE_LINES 1
#define GB_PY_TRACE_BLOCKS 2 /* gb_py_on_block is set */

extern int gb_py_tracing; /* 0, or a sum of those */

/* Called with the GIL for each new block; set by pyext/watch. */
extern void (*gb_py_on_block)(void *data, int64_t bytes);

/* ---- arrays ---- */

/* Heap memory for a plan. zero: all bytes 0. */
int gb_py_plan_allocate(const gb_plan *plan, int zero, void **data);

/* An ndarray over base's memory, or with base NULL one that owns the block at data. */
PyObject *gb_py_array_over(const gb_geometry *g, gb_py_dtype *dtype, void *data, int writable,
                           PyObject *base);

/* An ndarray over the memory of base, which it holds. */
PyObject *gb_py_array_view(PyArray_Descr *descr, int ndim, const npy_intp *shape,
                           const npy_intp *strides, void *data, int flags, PyObject *base);

/* Addresses of the lowest element and of the end of the highest; 0: no elements. */
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
