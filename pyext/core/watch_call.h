/* watch_call.h: what stands in the place of a stencil's methods while gridbuf.watch looks. */
#pragma once

#include "common.h"

int gb_py_watch_call_init(void);
PyObject *gb_py_watch_method(PyObject *self, PyObject *args);
PyObject *gb_py_watch_taken(PyObject *self, PyObject *args);
