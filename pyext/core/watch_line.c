/* watch_line.c: which line of the program runs: the innermost frame whose file is not among those to be passed over.
 *
 * It is asked in the middle of allocations: it makes frame objects and reads them, and runs no Python code.
 */
#include "watching.h"
#include "../../alloc/clock.h"

#include <dlfcn.h>

#define CODES 512
#define LINES 1024

typedef struct {
    PyObject *code, *file;   /* ours */
    int skip;
} known_code;

static known_code codes[CODES + 1];
static PyObject *skipped;   /* a tuple of what stands in the names of files that are passed over */
/* Python's own since 3.11, which the limited API leaves out; without them an innermost frame is all there is. */
static PyFrameObject *(*back_of)(PyFrameObject *);
static int (*instruction_of)(PyFrameObject *);

/* Lines by instruction, of code objects that are kept: their tables are read from the beginning each time. */
static struct {
    const PyObject *code;
    int at, line;
} lines[LINES];

static __thread int depth;   /* watched calls that run */
static __thread int64_t apart;   /* nanoseconds in them that were our own */

/* What a thread does for one line, whose frames nobody has to go through meanwhile; one thread at a time, the latest. */
static struct {
    PyObject *file;
    int64_t line;
    unsigned long thread;
} fixed;

/* What is known of a code object: slots keep it alive, so that no other can have its address, and are never taken again, because
 * a weak reference to a code object that goes may run anything. The last slot is for those that find none. */
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
    for (Py_ssize_t i = skipped ? PyTuple_Size(skipped) : 0; i-- > 0 && !skip;)
        skip = strstr(text, PyUnicode_AsUTF8AndSize(PyTuple_GetItem(skipped, i), NULL)) != NULL;   /* made when they came */
    if (slot != &codes[CODES]) slot->code = Py_NewRef(code);
    Py_XDECREF(slot->file);   /* a str: nothing runs */
    slot->file = file;
    slot->skip = skip;
    return slot;
}

static known_code *code_of_frame(PyObject *frame) {
    PyObject *code = (PyObject *)PyFrame_GetCode((PyFrameObject *)frame);
    known_code *known = code_of(code);
    Py_DECREF(code);   /* the frame has it */
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
    GB_PY_OWNED PyObject *inner = Py_XNewRef(frame);   /* it stands where all are passed over */
    while (frame) {
        known_code *known = code_of_frame(frame);
        int skip = known && known->skip;
        PyObject *back = skip && back_of ? (PyObject *)back_of((PyFrameObject *)frame) : NULL;
        if (!back) {
            PyObject *the = skip ? inner : frame;
            known = skip ? code_of_frame(inner) : known;
            if (known) {
                found = Py_NewRef(known->file);
                *line = line_in(the, known);
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
        Py_CLEAR(codes[i].code);   /* last: a weak reference to it may run anything, which may take the slot */
    }
    memset(lines, 0, sizeof lines);
    return 0;
}

int gb_py_call_depth(void) { return depth; }

int64_t gb_py_call_enter(void) {
    if (!depth++ && skipped) {
        int64_t line = 0;
        Py_CLEAR(fixed.file);   /* a str: nothing runs */
        PyObject *file = gb_py_line_of_now(&line);
        if (!file) PyErr_Clear();
        Py_XDECREF(fixed.file);
        fixed.file = file;
        fixed.line = line;
        fixed.thread = PyThread_get_thread_ident();
    }
    return gb_nanoseconds() - apart;
}

double gb_py_call_leave(int64_t began) {
    double seconds = 1e-9 * (double)(gb_nanoseconds() - apart - began);
    if (!--depth && fixed.thread == PyThread_get_thread_ident()) Py_CLEAR(fixed.file);   /* not where another has begun meanwhile */
    return seconds;
}

/* A watched call begins; the answer is when that was, by a clock that stands still in what is our own. */
PyObject *gb_py_watch_enter(PyObject *self, PyObject *none) { return PyLong_FromLongLong(gb_py_call_enter()); }

/* It ends, which began then: its seconds. */
PyObject *gb_py_watch_leave(PyObject *self, PyObject *began) {
    double seconds = gb_py_call_leave(PyLong_AsLongLong(began));
    return PyErr_Occurred() ? NULL : PyFloat_FromDouble(seconds);
}

/* So many seconds inside of watched calls were our own. */
PyObject *gb_py_watch_apart(PyObject *self, PyObject *seconds) {
    apart += (int64_t)(1e9 * PyFloat_AsDouble(seconds));
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* How many of them this thread is inside of, one calling the other. */
PyObject *gb_py_watch_depth(PyObject *self, PyObject *none) { return PyLong_FromLong(depth); }
