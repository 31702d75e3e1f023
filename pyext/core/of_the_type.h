/* of_the_type.h: NumPy's protocols on a type, and not on its objects. NumPy asks the type. Other libraries ask the object, and take one
 * that has them for an array to keep as it is: xarray would compute by our names where it has its own. They see what they can
 * read, as before. A class that overrides a protocol shows it. */
#pragma once

#include "common.h"

/* Gives the type the methods. `refuse` sets the error for an object that is asked for one. */
int gb_py_of_the_type(PyTypeObject *type, PyMethodDef *methods, void (*refuse)(PyObject *obj, PyObject *name));
