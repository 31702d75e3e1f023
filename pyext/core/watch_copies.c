/* watch_copies.c: what stands in the place of a function that may copy. A copy of an array that lies as an earlier one did, by the same
 * line, is counted here; any other goes to Python, which takes then what was counted.
 */
#include "watching.h"
#include "array.h"
#include "lists.h"
#include "../../alloc/clock.h"

#include <structmember.h>

#define KNOWN 64

typedef struct {
    uint64_t key;       /* 0: free */
    PyObject *record;   /* Python's, ours */
    int64_t count, bytes, nanoseconds;
} copy;

typedef struct {
    PyObject_HEAD
    PyObject *plain, *slow, *note, *weakrefs;   /* ours, but for the last */
    int64_t least, looks;
    int way;            /* 1: an array is given back by it, unless more is asked; 2: what it calls copies for it */
    copy known[KNOWN];
} function;

static PyTypeObject *function_type;

/* A number made of both layouts and the line that runs, where the result is a copy; 0 where it shares memory, by its bounds, or is small. */
static uint64_t key_of(const function *f, PyArrayObject *from, PyArrayObject *to) {
    if (PyArray_NBYTES(to) < f->least) return 0;
    if (PyArray_BASE(to)) {
        intptr_t low, end, its_low, its_end;
        if (gb_py_extent(from, &low, &end) && gb_py_extent(to, &its_low, &its_end) && low < its_end && its_low < end) return 0;
    }
    int64_t line = PyArray_BASE(to) ? -1 : gb_py_block_number(PyArray_BYTES(to));   /* who took its block is known */
    PyObject *file = line < 0 ? gb_py_line_of_now(&line) : NULL;
    PyErr_Clear();
    uint64_t h = gb_py_layout(gb_py_layout((uint64_t)line ^ (uintptr_t)file, from), to);
    Py_XDECREF(file);   /* one of those that are known for good */
    return h | 1;
}

/* Values that have no memory to share. */
static int is_value(PyObject *given) {
    return given == Py_None || PyFloat_Check(given) || PyLong_Check(given) || PyList_Check(given) || PyTuple_Check(given) ||
           PyUnicode_Check(given) || PyBytes_Check(given) || PyComplex_Check(given);
}

static PyObject *call(PyObject *self, PyObject *args, PyObject *kwargs) {
    function *f = (function *)self;
    Py_ssize_t n = PyTuple_Size(args);
    Py_ssize_t first = 0;
    PyObject *given = n ? PyTuple_GetItem(args, 0) : NULL;
    if (!given && kwargs) PyDict_Next(kwargs, &first, NULL, &given);
    if (!given || is_value(given) || gb_py_call_depth()) return PyObject_Call(f->plain, args, kwargs);   /* what a stencil copies is its own */
    if (!gb_py_watching) return PyObject_Call(f->slow, args, kwargs);
    int array = PyArray_CheckExact(given);
    if (array && f->way == 1 && n == 1 && (!kwargs || !PyDict_Size(kwargs))) return Py_NewRef(given);
    int64_t before = gb_py_watch_taken_blocks(), began = f->way == 2 ? gb_py_call_enter() : gb_nanoseconds();
    PyObject *result = PyObject_Call(f->plain, args, kwargs);
    int64_t taken = f->way == 2 ? (int64_t)(1e9 * gb_py_call_leave(began)) : gb_nanoseconds() - began;
    if (!result) return NULL;
    f->looks++;
    if (result == given) return result;
    uint64_t key = 0;
    if (array && PyArray_CheckExact(result)) {
        if (!(key = key_of(f, (PyArrayObject *)given, (PyArrayObject *)result))) return result;
        copy *c = &f->known[key / 2 % KNOWN];
        if (c->key == key) {
            c->count++;
            c->bytes += PyArray_NBYTES((PyArrayObject *)result);
            c->nanoseconds += taken;
            return result;
        }
    }
    GB_PY_OWNED PyObject *noted = PyObject_CallFunction(f->note, "OOKdL", given, result, (unsigned long long)key, 1e-9 * (double)taken, (long long)before);
    if (!noted) PyErr_WriteUnraisable(self);   /* the program's call went well */
    return result;
}

/* It is bound to an object where what it stands for would be. */
static PyObject *get(PyObject *self, PyObject *obj, PyObject *type) {
    function *f = (function *)self;
    return obj && obj != Py_None && PyObject_HasAttrString(f->plain, "__get__") ? PyObject_CallMethod(f->slow, "__get__", "O", obj) : Py_NewRef(self);
}

/* Its name, its text and its signature are those of what it stands for; pickles know both by name. */
static PyObject *attribute(PyObject *self, PyObject *name) {
    if (!PyUnicode_CompareWithASCIIString(name, "__reduce_ex__")) return PyObject_GenericGetAttr(self, name);
    return PyObject_GetAttr(((function *)self)->plain, name);
}
static int set_attribute(PyObject *self, PyObject *name, PyObject *value) { return PyObject_SetAttr(((function *)self)->plain, name, value); }
static PyObject *reduce(PyObject *self, PyObject *protocol) { return PyObject_GetAttrString(self, "__qualname__"); }
static PyObject *repr(PyObject *self) { return PyObject_Repr(((function *)self)->plain); }

static void dealloc(PyObject *self) {
    function *f = (function *)self;
    if (f->weakrefs) PyObject_ClearWeakRefs(self);
    Py_XDECREF(f->plain);
    Py_XDECREF(f->slow);
    Py_XDECREF(f->note);
    for (int i = 0; i < KNOWN; i++) Py_XDECREF(f->known[i].record);
    GB_PY_FREE_OBJECT(self);
}

static PyMethodDef methods[] = {{"__reduce_ex__", reduce, METH_O, NULL}, {NULL}};
static PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(function, weakrefs), READONLY, NULL}, {NULL}};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc}, {Py_tp_call, call}, {Py_tp_descr_get, get}, {Py_tp_getattro, attribute}, {Py_tp_setattro, set_attribute},
    {Py_tp_repr, repr}, {Py_tp_members, members}, {Py_tp_methods, methods}, {0, NULL},
};

int gb_py_watch_copies_init(PyObject *module) {
    if (gb_py_turns_itself((void (*)(void))call) < 0) return -1;
    return gb_py_add_type(NULL, &function_type, (PyType_Spec){"gridbuf._core._WatchFunction", sizeof(function), 0, GB_PY_FINAL, slots}, NULL);
}

/* (what is watched, what Python does instead, what it does with a copy that is not known, least bytes, way). */
PyObject *gb_py_watch_function(PyObject *self, PyObject *args) {
    PyObject *plain, *slow, *note;
    long long least;
    int way;
    if (!PyArg_ParseTuple(args, "OOOLi:watch_function", &plain, &slow, &note, &least, &way)) return NULL;
    function *f = (function *)PyType_GenericAlloc(function_type, 0);
    if (!f) return NULL;
    f->plain = Py_NewRef(plain);
    f->slow = Py_NewRef(slow);
    f->note = Py_NewRef(note);
    f->least = least;
    f->way = way;
    return (PyObject *)f;
}

/* (function, key, record): (looks, [(record, how many, bytes, seconds)]) since the last time. A key is known by its record from now on, in the
 * place of another; 0 is none. */
PyObject *gb_py_watch_copies(PyObject *self, PyObject *args) {
    function *f;
    unsigned long long key;
    PyObject *record;
    if (!PyArg_ParseTuple(args, "O!KO:watch_copies", function_type, &f, &key, &record)) return NULL;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < KNOWN; i++) {
        copy *c = &f->known[i];
        if (c->count) gb_py_append(&list, Py_BuildValue("(OLLd)", c->record, (long long)c->count, (long long)c->bytes, 1e-9 * (double)c->nanoseconds));
    }
    if (!list) return NULL;
    for (int i = 0; i < KNOWN; i++) f->known[i].count = f->known[i].bytes = f->known[i].nanoseconds = 0;
    int64_t looks = f->looks;
    f->looks = 0;
    if (key) {
        copy *c = &f->known[key / 2 % KNOWN];
        GB_PY_OWNED PyObject *before = c->record;
        c->record = Py_NewRef(record);
        c->key = key;
    }
    return Py_BuildValue("(LN)", (long long)looks, list);
}
