/* gufunc_errors.c: errors whose types are in Python, and how C finds a name there once. */
#include "gufunc.h"

#include <stdarg.h>

PyObject *gb_python_name(const char *module, const char *name, PyObject **memo) {
    if (*memo) return *memo;
    PyObject *imported = PyImport_ImportModule(module);
    PyObject *found = imported ? PyObject_GetAttrString(imported, name) : NULL;
    Py_XDECREF(imported);
    if (found && *memo) Py_DECREF(found);   /* the import asked too */
    else if (found) *memo = found;
    return *memo;
}

int gb_setup_error(const char *format, ...) {
    static PyObject *memo;
    va_list args;
    va_start(args, format);
    PyObject *type = gb_python_name("gridbuf.gufunc.errors", "SignatureError", &memo);
    PyObject *text = type ? PyUnicode_FromFormatV(format, args) : NULL;
    va_end(args);
    if (text) PyErr_SetObject(type, text);
    Py_XDECREF(text);
    return -1;
}
