/* device_wrap.h: Fields over device memory of other libraries. */
#pragma once

#include "../field/field.h"

/* A Field over an object with __cuda_array_interface__; NotImplemented for those that turn out not to have it. */
PyObject *gb_py_wrap_cuda(PyTypeObject *type, PyObject *obj);
int gb_py_has_cuda_interface(PyObject *obj);   /* its type or itself has the attribute; -1 with an error */
