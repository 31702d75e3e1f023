/* decref.h: releasing what consumers hold. */
#pragma once

#include "common.h"

/* Drop a reference from any thread, with or without the GIL, also after Python is
 * gone. Without the GIL the object waits on a list that gb_py_decref_deferred empties. */
void gb_py_deferred_decref(void *object);
void gb_py_decref_owner(
    PyObject *owner); /* with the GIL; however long the chain of owners behind it is */
void gb_py_decref_deferred(void);

/* Keeps an argument for a while longer than the call that fails: the caller drops it while the
 * exception is pending, which its destructor might clear. */
void gb_py_decref_later(PyObject *object);
