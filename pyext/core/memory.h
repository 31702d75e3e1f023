/* memory.h: blocks for Python objects, and what is said of them. */
#pragma once

#include "common.h"
#include "decref.h"

/* A block for a plan's wants; -1 with MemoryError. *fresh: known to be zero. */
int gb_py_allocate(const gb_heap_layout *want, void **data, int *fresh);

/* The NumPy memory handler whose free returns a block to the heap. Borrowed. */
extern PyObject *gb_py_handler;
extern int64_t gb_py_numpy_blocks; /* blocks that NumPy took through it; atomic */
