/* watch_copies.h: what stands in the place of functions that may copy while gridbuf.watch looks. */
#pragma once

#include "common.h"

int gb_py_watch_copies_init(void);
PyObject *gb_py_watch_function(PyObject *self, PyObject *args);
PyObject *gb_py_watch_copies(PyObject *self, PyObject *args);
