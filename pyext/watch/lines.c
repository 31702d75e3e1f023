/* lines.c: the running line of the program: the innermost frame whose file is not passed over.
 * Called in the middle of allocations: frame objects are made and read, and no Python code runs. */
#include "watch.h"
#include "../../alloc/system.h"

#include <dlfcn.h>

#define CODES 512
#define LINES 1024

typedef struct {
    PyObject *code, *file; /* references */
    int skip;
} known_code;

static known_code codes[CODES + 1];
static PyObject *skipped; /* a tuple of parts of the names of files that are passed over */

/* Functions of Python that the limited API leaves out; without them an innermost frame is all
 * there is. */
static PyFrameObject *(*back_of)(PyFrameObject *);
static int (*instruction_of)(PyFrameObject *);

/* Lines by instruction, of code objects that are kept: Python reads their tables from the
 * beginning each time. */
static struct {
    const PyObject *code;
    int at, line;
} lines[LINES];

static __thread int depth;     /* watched calls that run */
static __thread int64_t apart; /* nanoseconds in them that were gridbuf.watch's own */

/* Line of the watched call that runs, so that its allocations need no look at frames; of one thread
 * at a time, the latest. */
static struct {
    PyObject *file;
    int64_t line;
    unsigned long thread;
} fixed;

/* Facts about a code object. Slots keep the code alive, so that no other can have its address, and
 * are never reused: releasing a code object may run weak reference callbacks. The last slot serves
 * codes that find no free one. */
static known_code *code_of(PyObject *code) {
    known_code *slot = &codes[((uintptr_t)code >> 5) % CODES];
    if (slot->code == code) return slot;
    if (slot->code) slot = &codes[CODES];
    PyObject *file = PyObject_GetAttrString(code, "co_filename");
    const char *text = file ? PyUnicode_AsUTF8AndSize(file, NULL) : NULL;
    if (!text) {
        PyErr_Clear();
        Py_XDECREF(file);
        return NULL;
    }
    int skip = 0;
    for (Py_ssize_t i = skipped ? PyTuple_Size(skipped) : 0; i-- > 0 && !skip;) {
        PyObject *name = PyTuple_GetItem(skipped, i);
        const char *part = PyUnicode_AsUTF8AndSize(name, NULL); /* made in pass_over */
        skip = strstr(text, part) != NULL;
    }
    if (slot != &codes[CODES]) slot->code = Py_NewRef(code);
    Py_XDECREF(slot->file); /* a str: nothing runs */
    slot->file = file;
    slot->skip = skip;
    return slot;
}

static known_code *code_of_frame(PyObject *frame) {
    PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    known_code *known = code_of(code);
    Py_DECREF(code); /* the frame holds a reference */
    return known;
}

static int line_in(PyObject *frame, const known_code *known) {
    const PyObject *code = known->code;
    int at = code && instruction_of ? instruction_of((PyFrameObject *)frame) : -1;
    if (at < 0) return PyFrame_GetLineNumber((PyFrameObject *)frame);
    size_t i = (((uintptr_t)code >> 5) + (size_t)at) % LINES;
    if (lines[i].code != code || lines[i].at != at) {
        lines[i].line = PyFrame_GetLineNumber((PyFrameObject *)frame);
        lines[i].code = code;
        lines[i].at = at;
    }
    return lines[i].line;
}

PyObject *gb_py_line_of_call(int64_t *line) {
    if (!depth || !fixed.file || fixed.thread != PyThread_get_thread_ident()) return NULL;
    *line = fixed.line;
    return Py_NewRef(fixed.file);
}

PyObject *gb_py_line_of_now(int64_t *line) {
    PyObject *found = NULL, *frame = Py_XNewRef((PyObject *)PyEval_GetFrame());
    GB_PY_OWNED PyObject *inner = Py_XNewRef(frame); /* the answer where all are passed over */
    while (frame) {
        known_code *known = code_of_frame(frame);
        int skip = known && known->skip;
        PyObject *back = skip && back_of ? (PyObject *)back_of((PyFrameObject *)frame) : NULL;
        if (!back) {
            PyObject *answer = skip ? inner : frame;
            known = skip ? code_of_frame(inner) : known;
            if (known) {
                found = Py_NewRef(known->file);
                *line = line_in(answer, known);
            }
        }
        Py_DECREF(frame);
        frame = back;
    }
    return found;
}

int gb_py_line_pass_over(PyObject *names) {
    back_of = (PyFrameObject * (*)(PyFrameObject *)) dlsym(RTLD_DEFAULT, "PyFrame_GetBack");
    instruction_of = (int (*)(PyFrameObject *))dlsym(RTLD_DEFAULT, "PyFrame_GetLasti");
    for (Py_ssize_t i = 0; i < PyTuple_Size(names); i++)
        if (!PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL)) return -1;
    GB_PY_OWNED PyObject *before = skipped;
    skipped = Py_NewRef(names);
    for (int i = 0; i <= CODES; i++) {
        Py_CLEAR(codes[i].file);
        /* Release last: a weak reference callback may take the slot. */
        Py_CLEAR(codes[i].code);
    }
    memset(lines, 0, sizeof lines);
    return 0;
}

/* A watched call of this thread begins: allocations until it ends belong to the line that makes
 * the call. The answer is the time by a clock that stands still in gridbuf.watch's own code. */
PyObject *gb_py_watch_enter(PyObject *self, PyObject *none) {
    if (!depth++ && skipped) {
        int64_t line = 0;
        Py_CLEAR(fixed.file); /* a str: nothing runs */
        PyObject *file = gb_py_line_of_now(&line);
        if (!file) PyErr_Clear();
        Py_XDECREF(fixed.file);
        fixed.file = file;
        fixed.line = line;
        fixed.thread = PyThread_get_thread_ident();
    }
    return PyLong_FromLongLong(gb_nanoseconds() - apart);
}

/* The call that began then ends: its seconds. */
PyObject *gb_py_watch_leave(PyObject *self, PyObject *began) {
    int64_t now = gb_nanoseconds() - apart;
    depth--;
    int ours = fixed.thread == PyThread_get_thread_ident(); /* the same thread's */
    if (!depth && ours) Py_CLEAR(fixed.file);
    int64_t then = PyLong_AsLongLong(began);
    return PyErr_Occurred() ? NULL : PyFloat_FromDouble(1e-9 * (double)(now - then));
}

/* Subtract seconds of gridbuf.watch itself from watched calls. */
PyObject *gb_py_watch_apart(PyObject *self, PyObject *seconds) {
    apart += (int64_t)(1e9 * PyFloat_AsDouble(seconds));
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* How many watched calls this thread is inside of, one calling the other. */
PyObject *gb_py_watch_depth(PyObject *self, PyObject *none) { return PyLong_FromLong(depth); }
