/* errors.c: errors of a gufunc's set-up, whose type is in Python. */
#include "gufunc.h"
#include "../core/upcall.h"

#include <stdarg.h>

int gb_py_setup_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    PyObject *type = gb_py_upcall_get(GB_PY_UP_SIGNATURE_ERROR);
    GB_PY_OWNED PyObject *text = type ? PyUnicode_FromFormatV(format, args) : NULL;
    va_end(args);
    if (text) PyErr_SetObject(type, text);
    return -1;
}
