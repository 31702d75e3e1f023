/* owned.h: references that end with their scope. */
#pragma once

#include <Python.h>

/* GB_PY_OWNED PyObject *x = ...: a reference that its scope holds, or NULL; it is dropped where the
 * scope is left, by whatever way. What is returned is worked out before. */
#define GB_PY_OWNED __attribute__((cleanup(gb_py_drop_owned)))
static inline void gb_py_drop_owned(void *place) {
    Py_XDECREF(*(PyObject *__attribute__((may_alias)) *)place);
}
