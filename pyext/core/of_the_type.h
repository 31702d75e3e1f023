/* of_the_type.h: `__array_function__` on a type, and not on its objects. NumPy asks the type.
 * xarray asks the object, and nothing but this name: an array that has it is kept as it is,
 * transposed and added by xarray's dims, where ours go by their own names: `x + y.T` would have the
 * wrong values and no error. Without the name xarray takes the memory, by `__array__`. A class that
 * overrides a protocol shows it. */
#pragma once

#include "common.h"

/* Gives the type the methods. `refuse` sets the error for an object that is asked for one. */
int gb_py_of_the_type(PyTypeObject *type, PyMethodDef *methods,
                      void (*refuse)(PyObject *obj, PyObject *name));
