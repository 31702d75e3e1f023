/* watch_layouts.h: how arrays lie, as one number made of their strides and types. */
#pragma once

#include "common.h"

uint64_t gb_py_layout(uint64_t before, PyArrayObject *array);   /* and of what came before */
int gb_py_layouts_key(PyObject *values, uint64_t *key);
PyObject *gb_py_watch_strides(PyObject *self, PyObject *values);
