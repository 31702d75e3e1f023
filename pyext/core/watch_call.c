/* watch_call.c: what stands in the place of a stencil's methods. A call whose fields lie as those of an earlier one is counted and
 * timed here; one that is new, and from time to time another, goes to Python, which takes then what was counted.
 *
 * Between two calls a program's data push our code out of the caches: what costs is how much of it there is.
 */
#include "watching.h"
#include "lists.h"

#include <structmember.h>

#define KNOWN 16
#define ROOM 128

typedef struct {
    PyObject_HEAD
    PyObject *plain, *slow, *weakrefs;   /* ours, but for the last */
    PyObject *cls;              /* whose calls these are: its address alone is looked at */
    int run;                    /* it is given the fields as they are, by name: how they lie is looked at */
    int left, n, n_known;       /* calls until the next that Python sees */
    double seconds[ROOM];
    struct { uint64_t key; int64_t calls; } known[KNOWN];
} method;

static PyTypeObject *method_type;
static PyObject *bound;   /* Python's type of bound methods, once there is a method */

static int find(const method *m, uint64_t key) {
    int i = m->n_known;
    while (--i >= 0 && m->known[i].key != key) {}
    return i;
}

/* Call with one more argument before the others. */
static PyObject *call_with(PyObject *(*call)(PyObject *, PyObject *, PyObject *), PyObject *called, PyObject *first, PyObject *args, PyObject *kwargs) {
    Py_ssize_t n = PyTuple_Size(args);
    GB_PY_OWNED PyObject *all = PyTuple_New(n + 1);
    if (!all) return NULL;
    PyTuple_SetItem(all, 0, Py_NewRef(first));
    for (Py_ssize_t i = 0; i < n; i++) PyTuple_SetItem(all, i + 1, Py_NewRef(PyTuple_GetItem(args, i)));
    return call(called, all, kwargs);
}

static PyObject *call(PyObject *self, PyObject *args, PyObject *kwargs) {
    method *m = (method *)self;
    int at = -1, own = PyTuple_Size(args) > 0 && (PyObject *)Py_TYPE(PyTuple_GetItem(args, 0)) == m->cls;
    uint64_t key;
    if (own && m->run && kwargs && gb_py_layouts_key(kwargs, &key)) at = find(m, key);
    int known = own && (at >= 0 || !m->run), part = m->run && gb_py_call_depth();   /* of a call that is timed as a whole */
    if (!known || (!part && (!m->left || m->n == ROOM))) return call_with(PyObject_Call, m->slow, own ? self : Py_None, args, kwargs);
    if (at >= 0) m->known[at].calls++;
    if (part) return PyObject_Call(m->plain, args, kwargs);
    m->left--;
    int64_t began = gb_py_call_enter();
    PyObject *result = PyObject_Call(m->plain, args, kwargs);
    double seconds = gb_py_call_leave(began);
    if (m->n < ROOM) m->seconds[m->n++] = seconds;
    return result;
}

/* A bound method as any other: `self.step = self.run` is a circle that the collector finds. */
static PyObject *get(PyObject *self, PyObject *obj, PyObject *type) {
    return !obj || obj == Py_None ? Py_NewRef(self) : PyObject_CallFunctionObjArgs(bound, self, obj, NULL);
}

/* Its name, its text and its signature are those of what it stands for. */
static PyObject *attribute(PyObject *self, PyObject *name) { return PyObject_GetAttr(((method *)self)->plain, name); }

static void dealloc(PyObject *self) {
    if (((method *)self)->weakrefs) PyObject_ClearWeakRefs(self);
    Py_XDECREF(((method *)self)->plain);
    Py_XDECREF(((method *)self)->slow);
    GB_PY_FREE_OBJECT(self);
}

static PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(method, weakrefs), READONLY, NULL}, {NULL}};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc}, {Py_tp_call, call}, {Py_tp_descr_get, get}, {Py_tp_getattro, attribute}, {Py_tp_members, members}, {0, NULL},
};

int gb_py_watch_call_init(PyObject *module) {
    if (gb_py_turns_itself((void (*)(void))call) < 0) return -1;
    return gb_py_add_type(NULL, &method_type, (PyType_Spec){"gridbuf._core._WatchMethod", sizeof(method), 0, GB_PY_FINAL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots}, NULL);
}

/* (what is watched, what Python does instead, the class, whether it is `run`): the method to put there. Python's is given the
 * method before the call's own arguments, or None where it is another class's. */
PyObject *gb_py_watch_method(PyObject *self, PyObject *args) {
    PyObject *plain, *slow, *cls;
    int run;
    if (!PyArg_ParseTuple(args, "OOOp:watch_method", &plain, &slow, &cls, &run)) return NULL;
    if (!bound) {   /* the limited API does not name it */
        GB_PY_OWNED PyObject *one = PyObject_CallMethod(slow, "__get__", "O", slow);
        if (!one) return NULL;
        bound = Py_NewRef((PyObject *)Py_TYPE(one));
    }
    method *m = (method *)PyType_GenericAlloc(method_type, 0);
    if (!m) return NULL;
    m->plain = Py_NewRef(plain);
    m->slow = Py_NewRef(slow);
    m->cls = cls;
    m->run = run;
    return (PyObject *)m;
}

/* (method, key, left): the seconds of calls since the last time, and how many had each key. A key that is an int is known from now
 * on; unless `left` is negative, so many calls go by before Python sees another. */
PyObject *gb_py_watch_taken(PyObject *self, PyObject *args) {
    method *m;
    PyObject *key;
    int left;
    if (!PyArg_ParseTuple(args, "O!Oi:watch_taken", method_type, &m, &key, &left)) return NULL;
    uint64_t number = PyLong_Check(key) ? PyLong_AsUnsignedLongLong(key) : 0;
    if (PyErr_Occurred()) return NULL;
    PyObject *seconds = PyList_New(0), *calls = PyList_New(0);
    for (int i = 0; seconds && i < m->n; i++) gb_py_append(&seconds, PyFloat_FromDouble(m->seconds[i]));
    for (int i = 0; calls && i < m->n_known; i++)
        if (m->known[i].calls) gb_py_append(&calls, Py_BuildValue("(KL)", (unsigned long long)m->known[i].key, (long long)m->known[i].calls));
    if (!seconds || !calls) {
        Py_XDECREF(seconds);
        Py_XDECREF(calls);
        return NULL;
    }
    m->n = 0;
    for (int i = 0; i < m->n_known; i++) m->known[i].calls = 0;
    if (PyLong_Check(key) && m->n_known < KNOWN && find(m, number) < 0) m->known[m->n_known++].key = number;
    if (left >= 0) m->left = left < ROOM ? left : ROOM;
    return Py_BuildValue("(NN)", seconds, calls);
}
