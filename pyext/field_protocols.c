/* field_protocols.c: NumPy's protocols on the Field type, and not on Fields. NumPy asks the type. Other libraries ask
 * the object, and take one that has them for an array to keep as it is: xarray would compute by our names where it
 * has its own. They see what they can read, as before. A class that overrides a protocol shows it. */
#include "field_number.h"

#include <docs.h>

typedef struct {
    PyObject_HEAD
    PyObject *name, *method;
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
    PyObject *bound = theirs == h->method ? NULL : PyObject_CallMethod(h->method, "__get__", "OO", obj, (PyObject *)Py_TYPE(obj));
    if (theirs == h->method) PyErr_Format(PyExc_AttributeError, "%R is for NumPy, which asks the type of a Field", h->name);
    return bound;
}

static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_descr_get, get},
    {0, NULL},
};

static PyMethodDef methods[] = {
    {"__array_ufunc__", (PyCFunction)(void *)gb_py_field_array_ufunc, METH_VARARGS | METH_KEYWORDS, GB_PY_DOC_Field___array_ufunc__},
    {"__array_function__", (PyCFunction)(void *)gb_py_field_array_function, METH_VARARGS | METH_KEYWORDS, GB_PY_DOC_Field___array_function__},
    {NULL},
};

int gb_py_field_protocols_init(void) {
    if (gb_py_methods_take_turns(methods) < 0 || gb_py_add_type(NULL, &hidden_type, (PyType_Spec){"gridbuf._core._OfTheType", sizeof(hidden), 0, GB_PY_FINAL, slots}, NULL) < 0) return -1;
    for (PyMethodDef *method = methods; method->ml_name; method++) {
        hidden *h = (hidden *)PyType_GenericAlloc(hidden_type, 0);
        if (!h) return -1;
        h->name = PyUnicode_InternFromString(method->ml_name);
        h->method = PyDescr_NewMethod(gb_py_FieldType, method);
        int rc = h->name && h->method ? PyObject_SetAttr((PyObject *)gb_py_FieldType, h->name, (PyObject *)h) : -1;
        Py_DECREF((PyObject *)h);
        if (rc < 0) return -1;
    }
    return 0;
}
