/* memory.h: blocks for Python objects, and what is said of them. */
#pragma once

#include "common.h"
#include "decref.h"
#include "trace.h"

/* A block for a plan's wants; -1 with MemoryError. *fresh: known to be zero. */
int gb_py_allocate(const gb_heap_layout *want, void **data, int *fresh);

/* The NumPy memory handler whose free returns a block to the heap. Borrowed. */
extern PyObject *gb_py_handler;
extern int64_t gb_py_numpy_allocations;   /* blocks that NumPy took through it; atomic */
int gb_py_handler_init(void);
PyObject *gb_py_numpy_handler(PyObject *self, PyObject *none);
PyObject *gb_py_run_with_handler(PyObject *self, PyObject *args);
PyObject *gb_py_set_numpy_handler(PyObject *self, PyObject *handler);

int gb_py_statistics_init(PyObject *module);
