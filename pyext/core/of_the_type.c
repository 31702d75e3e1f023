/* of_the_type.c: see of_the_type.h. */
#include "of_the_type.h"

typedef struct {
    PyObject_HEAD
    PyObject *name, *method;
    void (*refuse)(PyObject *obj, PyObject *name);
} hidden;

static PyTypeObject *hidden_type;

static void dealloc(PyObject *self) {
    Py_XDECREF(((hidden *)self)->name);
    Py_XDECREF(((hidden *)self)->method);
    GB_PY_FREE_OBJECT(self);
}

static PyObject *get(PyObject *self, PyObject *obj, PyObject *type) {
    hidden *h = (hidden *)self;
    if (!obj || obj == Py_None) return Py_NewRef(h->method);
    GB_PY_OWNED PyObject *theirs = PyObject_GetAttr((PyObject *)Py_TYPE(obj), h->name);
    if (!theirs) return NULL;
    if (theirs != h->method)
        return PyObject_CallMethod(h->method, "__get__", "OO", obj, (PyObject *)Py_TYPE(obj));
    h->refuse(obj, h->name);
    return NULL;
}

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_descr_get, get},
    {0, NULL},
};

int gb_py_of_the_type_init(PyObject *module) {
    return gb_py_add_type(
        NULL, &hidden_type,
        (PyType_Spec){"gridbuf._core._OfTheType", sizeof(hidden), 0, GB_PY_FINAL, slots}, NULL);
}

int gb_py_of_the_type(PyTypeObject *type, PyMethodDef *methods,
                      void (*refuse)(PyObject *obj, PyObject *name)) {
    for (PyMethodDef *method = methods; method->ml_name; method++) {
        GB_PY_OWNED hidden *h = (hidden *)PyType_GenericAlloc(hidden_type, 0);
        if (!h) return -1;
        h->name = PyUnicode_InternFromString(method->ml_name);
        h->method = PyDescr_NewMethod(type, method);
        h->refuse = refuse;
        if (!h->name || !h->method ||
            PyObject_SetAttr((PyObject *)type, h->name, (PyObject *)h) < 0)
            return -1;
    }
    return 0;
}
