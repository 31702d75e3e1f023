/* attribute.c: optional attributes without the cost of an AttributeError, and methods of a type
 * alone. */
#define _GNU_SOURCE
#include "attribute.h"

#include <dlfcn.h>

struct gb_py_attribute_names gb_py_attr;

/* PyObject_GetOptionalAttr of Python 3.13, or its older private name: outside the limited API,
 * looked up by name. */
static int (*lookup)(PyObject *, PyObject *, PyObject **);

int gb_py_optional(PyObject *obj, PyObject *name, PyObject **value) {
    if (lookup) return lookup(obj, name, value);
    if ((*value = PyObject_GetAttr(obj, name))) return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return -1;
    PyErr_Clear();
    return 0;
}

int gb_py_has_any(PyObject *obj, PyObject *const *names, int n) {
    PyObject *value;
    int found = 0;
    for (int i = 0; i < n && !found; i++)
        if ((found = gb_py_optional(obj, names[i], &value)) > 0) Py_DECREF(value);
    return found;
}

#define TEXT(name, text) text,
int gb_py_attribute_init(PyObject *module) {
    static const char *const texts[] = {GB_PY_ATTRIBUTES(TEXT)};
    if (gb_py_intern_names(texts, (PyObject **)&gb_py_attr, sizeof texts / sizeof *texts) < 0)
        return -1;
    lookup = (int (*)(PyObject *, PyObject *, PyObject **))dlsym(RTLD_DEFAULT,
                                                                 "PyObject_GetOptionalAttr");
    if (!lookup)
        lookup = (int (*)(PyObject *, PyObject *, PyObject **))dlsym(RTLD_DEFAULT,
                                                                     "_PyObject_LookupAttr");
    return 0;
}

int gb_py_intern_names(const char *const *texts, PyObject **names, int n) {
    for (int i = 0; i < n; i++)
        if (!(names[i] = PyUnicode_InternFromString(texts[i]))) return -1;
    return 0;
}

int gb_py_find_name(PyObject *const *names, int n, PyObject *name) {
    for (int i = 0; i < n; i++)
        if (names[i] == name) return i;
    for (int i = 0; i < n; i++) /* a name that was built at run time is not interned */
        if (PyUnicode_Compare(names[i], name) == 0) return i;
    return -1;
}

PyObject *gb_py_item(PyObject *self, Py_ssize_t i) {
    GB_PY_OWNED PyObject *key = PyLong_FromSsize_t(i);
    return key ? PyObject_GetItem(self, key) : NULL;
}

/* ---- methods of a type that its objects do not have ---- */

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

int gb_py_type_only_methods_init(PyObject *module) {
    return gb_py_add_type(
        NULL, &hidden_type,
        (PyType_Spec){"gridbuf._core._OfTheType", sizeof(hidden), 0, GB_PY_FINAL, slots}, NULL);
}

int gb_py_type_only_methods(PyTypeObject *type, PyMethodDef *methods,
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
