/* references.c: errors under way, and references released on any thread. */
#define _GNU_SOURCE
#include "references.h"

#include <dlfcn.h>

int gb_py_clear_description_error(void) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError) &&
        !PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_OverflowError))
        return 0;
    PyErr_Clear();
    return 1;
}

int gb_py_clear_numpy_error(void) {
    PyObject *type = PyErr_Occurred();
    if (type != PyExc_RuntimeError && type != PyExc_NotImplementedError)
        return gb_py_clear_description_error(); /* RecursionError is none of them */
    PyErr_Clear();
    return 1;
}

/* Rewrite only errors whose message is their one argument: other types hold more than a text. */
static int is_plain(PyObject *value) {
    PyObject *type = (PyObject *)Py_TYPE(value);
    return type == PyExc_TypeError || type == PyExc_ValueError || type == PyExc_BufferError ||
           type == PyExc_OverflowError;
}

void gb_py_prefix_error(const char *argument, int always) {
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

void gb_py_decref_last_foreign(PyObject *obj) {
    GB_PY_SAVED_ERROR;
    Py_DECREF(obj);
    if (PyErr_Occurred()) PyErr_WriteUnraisable(NULL); /* raised by the destructor */
}

/* ---- releasing ----
 *
 * A DLPack deleter runs on any thread of the consumer's, also while the interpreter shuts down.
 * With the GIL the object is released at once; without it the object goes on a list, which the main
 * thread is asked to empty soon. */

typedef struct waiting {
    struct waiting *next;
    PyObject *object;
} waiting;

static waiting *list;

/* Thread state that is current on this thread (3.12 on) or in the process: outside the limited API,
 * looked up by name. PyGILState_Check says yes to every thread once a sub-interpreter was made. */
static PyThreadState *(*running)(void);

static int have_gil(void) {
    PyThreadState *own = PyGILState_GetThisThreadState(); /* NULL: a thread that Python never saw */
    return own && running && running() == own;
}

/* Depth of owners that are released by recursion; longer chains (a Field over an array over a Field
 * ...) are released one after the other, for the stack's sake. */
#define DEEPEST 32
static __thread int depth;
static __thread waiting *deep;

void gb_py_decref_owner(PyObject *owner) {
    if (Py_REFCNT(owner) > 1) { /* nothing is released */
        Py_DECREF(owner);
        return;
    }
    waiting *w = depth < DEEPEST ? NULL : malloc(sizeof *w);
    if (w) {
        *w = (waiting){deep, owner};
        deep = w;
        return;
    }
    depth++;
    gb_py_decref_foreign(owner);
    while (depth == 1 && (w = deep)) {
        deep = w->next;
        gb_py_decref_foreign(w->object);
        free(w);
    }
    depth--;
}

static int drain_pending(void *unused) {
    gb_py_decref_waiting();
    return 0;
}

static void push(waiting *w, PyObject *object) {
    w->object = object;
    w->next = __atomic_load_n(&list, __ATOMIC_RELAXED);
    while (
        !__atomic_compare_exchange_n(&list, &w->next, w, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
    Py_AddPendingCall(drain_pending,
                      NULL); /* when the queue is full, the next gb_py_decref_waiting drops it */
}

void gb_py_decref_any_thread(void *object) {
    if (!object || !Py_IsInitialized()) return; /* Python is gone: its objects are too */
    if (have_gil()) {
        gb_py_decref_owner(object);
        return;
    }
    waiting *w = malloc(sizeof *w);
    if (!w) return; /* leak the object: no safe way is left */
    push(w, object);
}

void gb_py_decref_later(PyObject *object) {
    waiting *w = malloc(sizeof *w);
    if (w) push(w, Py_NewRef(object));
}

void gb_py_decref_waiting(void) {
    if (__builtin_expect(__atomic_load_n(&list, __ATOMIC_RELAXED) == NULL, 1)) return;
    waiting *w = __atomic_exchange_n(&list, NULL, __ATOMIC_ACQUIRE);
    while (w) {
        waiting *next = w->next;
        gb_py_decref_owner(w->object);
        free(w);
        w = next;
    }
}

int gb_py_decref_init(PyObject *module) {
    running = (PyThreadState * (*)(void))
        dlsym(RTLD_DEFAULT, "PyThreadState_GetUnchecked"); /* name from 3.13 on */
    if (!running)
        running = (PyThreadState * (*)(void)) dlsym(RTLD_DEFAULT, "_PyThreadState_UncheckedGet");
    return 0;
}
