/* pending.c: see pending.h. */
#include "pending.h"

int gb_py_forgive(void) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError) &&
        !PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_OverflowError))
        return 0;
    PyErr_Clear();
    return 1;
}

int gb_py_forgive_numpy(void) {
    PyObject *type = PyErr_Occurred();
    if (type != PyExc_RuntimeError && type != PyExc_NotImplementedError)
        return gb_py_forgive(); /* RecursionError is none of them */
    PyErr_Clear();
    return 1;
}

/* Only of types whose message is their one argument: others say more than a text. */
static int is_plain(PyObject *value) {
    PyObject *type = (PyObject *)Py_TYPE(value);
    return type == PyExc_TypeError || type == PyExc_ValueError || type == PyExc_BufferError ||
           type == PyExc_OverflowError;
}

void gb_py_blame(const char *argument, int always) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    GB_PY_HELD PyObject *said = value && is_plain(value) ? PyObject_Str(value) : NULL;
    const char *text = said ? PyUnicode_AsUTF8AndSize(said, NULL) : NULL;
    int renamed = text && strncmp(text, "data: ", 6) == 0;
    if (renamed || (text && always)) {
        text += renamed ? 6 : 0;
        GB_PY_OWNED PyObject *args =
            Py_BuildValue("(N)", PyUnicode_FromFormat("%s: %s", argument, text));
        if (args) (void)PyObject_SetAttrString(value, "args", args);
    }
    PyErr_Restore(type, value, traceback);
}

void gb_py_let_go_last(PyObject *obj) {
    GB_PY_ASIDE;
    Py_DECREF(obj);
    if (PyErr_Occurred()) PyErr_WriteUnraisable(NULL); /* the destructor's own */
}
