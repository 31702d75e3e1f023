/* watch.h: which lines of Python allocate, while gridbuf.watch looks. */
#pragma once

#include "common.h"

extern int gb_py_watching;

/* A block of gridbuf's own was taken: it is put down to the line that runs. With the GIL. */
void gb_py_watch_own(void *data, int64_t bytes);

int64_t gb_py_watch_taken_blocks(void);   /* so far */

PyObject *gb_py_watch_start(PyObject *self, PyObject *args);
PyObject *gb_py_watch_stop(PyObject *self, PyObject *none);
PyObject *gb_py_watch_lines(PyObject *self, PyObject *none);
PyObject *gb_py_watch_block(PyObject *self, PyObject *address);
PyObject *gb_py_watch_total(PyObject *self, PyObject *none);
