/* stand_in.c: an object in the place of a function or method, which it calls between two hooks
 * of Python.
 *
 * The function is called from C, so that no frame of ours stands between the program and it:
 * tracebacks, warnings and sys._getframe are the program's. The hooks are ours, and their errors
 * are not the program's.
 *
 *     token = before(*args, **kwargs)      None: only call the function
 *     result = plain(*args, **kwargs)
 *     after(token, result)                 after(token) where it raised
 */
#include "watch.h"
#include "../core/references.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *plain, *before, *after; /* references */
    PyObject *weakrefs;
} stand_in;

static PyTypeObject *stand_in_type;
static PyObject *bound_method; /* types.MethodType, which the limited API does not name */

static PyObject *call(PyObject *self, PyObject *args, PyObject *kwargs) {
    stand_in *s = (stand_in *)self;
    GB_PY_OWNED PyObject *kept = Py_NewRef(self);
    GB_PY_OWNED PyObject *token = PyObject_Call(s->before, args, kwargs);
    if (!token) PyErr_WriteUnraisable(self);
    PyObject *result = PyObject_Call(s->plain, args, kwargs);
    if (!token || token == Py_None) return result;
    GB_PY_SAVED_ERROR; /* the function's own exception */
    GB_PY_OWNED PyObject *done = PyObject_CallFunctionObjArgs(s->after, token, result, NULL);
    if (!done) PyErr_WriteUnraisable(self);
    return result;
}

/* A function becomes a bound method where the one that it stands for would: builtins do not. */
static PyObject *get(PyObject *self, PyObject *obj, PyObject *type) {
    PyObject *plain = ((stand_in *)self)->plain;
    int binds = obj && obj != Py_None && PyObject_HasAttrString(plain, "__get__");
    return binds ? PyObject_CallFunctionObjArgs(bound_method, self, obj, NULL) : Py_NewRef(self);
}

/* Name, text and signature are those of the function; a pickle has the name, under which both
 * are found. */
static PyObject *attribute(PyObject *self, PyObject *name) {
    int pickled = !PyUnicode_CompareWithASCIIString(name, "__reduce_ex__");
    if (pickled) return PyObject_GenericGetAttr(self, name);
    return PyObject_GetAttr(((stand_in *)self)->plain, name);
}

static int set_attribute(PyObject *self, PyObject *name, PyObject *value) {
    return PyObject_SetAttr(((stand_in *)self)->plain, name, value);
}

static PyObject *reduce(PyObject *self, PyObject *protocol) {
    return PyObject_GetAttrString(self, "__qualname__");
}

static PyObject *repr(PyObject *self) { return PyObject_Repr(((stand_in *)self)->plain); }

static void dealloc(PyObject *self) {
    stand_in *s = (stand_in *)self;
    if (s->weakrefs) PyObject_ClearWeakRefs(self);
    Py_XDECREF(s->plain);
    Py_XDECREF(s->before);
    Py_XDECREF(s->after);
    GB_PY_FREE_OBJECT(self);
}

static PyMethodDef methods[] = {{"__reduce_ex__", reduce, METH_O, NULL}, {NULL}};
static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(stand_in, weakrefs), READONLY, NULL},
    {NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc},
    {Py_tp_call, call},
    {Py_tp_descr_get, get},
    {Py_tp_getattro, attribute},
    {Py_tp_setattro, set_attribute},
    {Py_tp_repr, repr},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {0, NULL},
};

int gb_py_stand_in_init(PyObject *module) {
    PyType_Spec spec = {"gridbuf._core._StandIn", sizeof(stand_in), 0, GB_PY_FINAL, slots};
    return gb_py_add_type(NULL, &stand_in_type, spec, NULL);
}

/* (function, before, after): the object to put in its place; `before` is a function or method. */
PyObject *gb_py_watch_stand_in(PyObject *self, PyObject *args) {
    PyObject *plain, *before, *after;
    if (!PyArg_ParseTuple(args, "OOO:watch_stand_in", &plain, &before, &after)) return NULL;
    if (!bound_method) {
        GB_PY_OWNED PyObject *one = PyObject_CallMethod(before, "__get__", "O", before);
        if (!one) return NULL;
        bound_method = Py_NewRef((PyObject *)Py_TYPE(one));
    }
    stand_in *s = (stand_in *)PyType_GenericAlloc(stand_in_type, 0);
    if (!s) return NULL;
    s->plain = Py_NewRef(plain);
    s->before = Py_NewRef(before);
    s->after = Py_NewRef(after);
    return (PyObject *)s;
}
