/* memory.h: blocks for Python objects, and releasing what consumers hold. */
#ifndef GRIDBUF_MEMORY_H
#define GRIDBUF_MEMORY_H

#include "common.h"

/* A block for a plan's wants; -1 with MemoryError. *fresh: known to be zero. */
int gb_py_allocate(const gb_heap_layout *want, void **data, int *fresh);

/* The NumPy memory handler whose free returns a block to the heap. Borrowed. */
extern PyObject *gb_py_handler;
extern int64_t gb_py_numpy_allocations;   /* blocks that NumPy took through it; atomic */
int gb_py_handler_init(void);
PyObject *gb_py_numpy_handler(PyObject *self, PyObject *none);
PyObject *gb_py_set_numpy_handler(PyObject *self, PyObject *handler);

/* Drop a reference from any thread, with or without the GIL, also after Python is
 * gone. Without the GIL the object waits on a list that gb_py_decref_deferred empties. */
void gb_py_deferred_decref(void *object);
void gb_py_decref_owner(PyObject *owner);   /* with the GIL; however long the chain of owners behind it is */
void gb_py_decref_deferred(void);

/* Keeps an argument for a while longer than the call that fails: the caller drops it while the exception is pending, which
 * its destructor might clear. */
void gb_py_decref_later(PyObject *object);
int gb_py_decref_init(void);

/* trace.c: with GRIDBUF_TRACE=1 every block remembers the Python line that asked for it. */
extern int gb_py_tracing;
void gb_py_trace(void *data, uint64_t plan);
void gb_py_trace_init(void);

PyObject *gb_py_memory_live(PyObject *self, PyObject *number);
PyObject *gb_py_memory_id(PyObject *self, PyObject *obj);
PyObject *gb_py_memory_stats(PyObject *self, PyObject *none);
PyObject *gb_py_memory_trim(PyObject *self, PyObject *none);
PyObject *gb_py_machine(PyObject *self, PyObject *none);
PyObject *gb_py_memory_set_limit(PyObject *self, PyObject *limit);

#endif
