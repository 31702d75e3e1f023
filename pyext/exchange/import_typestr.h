/* import_typestr.h: the dtype that an array interface describes. */
#pragma once

#include "../../arrayinterface/interface.h"
#include "../core/dtype.h"

/* The dtype behind a typestr and, for 'V', a descr (each may be NULL): new reference. NULL with *wrong naming the key whose
 * value is no such thing and e saying why (it may say nothing), or with *wrong NULL and an exception. */
PyArray_Descr *gb_py_read_typestr(PyObject *typestr, PyObject *fields, const char **wrong, gb_error *e);
