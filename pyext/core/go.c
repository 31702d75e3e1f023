/* go.c: entering Go, and what it may leave behind. */
#include "go.h"
#include "upcall.h"

#include <docs.h>

#include <sys/resource.h>

PyObject *gb_py_BackendError;

/* Go's os package raises the soft limit of open files, which child processes would
 * inherit. This runs before Go's own start-up; gb_py_go_init puts the limit back. */
static struct rlimit files_before;

__attribute__((constructor(101))) static void remember_limit(void) { getrlimit(RLIMIT_NOFILE, &files_before); }

int gb_py_go_init(PyObject *module) {
    gb_error e;
    GB_PY_OWNED PyObject *bases = PyTuple_Pack(2, PyExc_ValueError, PyExc_RuntimeError);
    gb_py_BackendError = bases ? PyErr_NewExceptionWithDoc("gridbuf.BackendError", GB_PY_DOC_BackendError, bases, NULL) : NULL;
    if (!gb_py_BackendError || PyModule_AddObjectRef(module, "BackendError", gb_py_BackendError) < 0) return -1;
    if (GB_PY_ENTER_GO(&e, gbridge_start(&e)) < 0) return -1;
    struct rlimit now;
    if (getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur != files_before.rlim_cur) {
        now.rlim_cur = files_before.rlim_cur;
        setrlimit(RLIMIT_NOFILE, &now);
    }
    return 0;
}

static const char forked[] = "gridbuf: this needs the Go runtime, which a forked child does not have. Make the call once before the "
                             "fork, or start processes with multiprocessing's 'spawn' or 'forkserver'.";

int gb_py_refuse_go(void) {
    return PyErr_SetString(PyExc_RuntimeError, forked), -1;
}

int gb_py_forked_error(gb_error *e) {
    e->kind = GB_RUNTIME_ERROR;
    memcpy(e->message, forked, sizeof forked);
    return -1;
}

/* gridbuf.gufunc.SignatureError lives in Python, which is loaded when somebody needs it. */
static int raise_signature_error(const char *message) {
    PyObject *type = gb_py_upcall_get(GB_PY_UP_SIGNATURE_ERROR);
    if (type) PyErr_SetString(type, message);
    return -1;
}

int gb_py_raise(const gb_error *e) {
    PyObject *type = PyExc_RuntimeError;
    switch (e->kind) {
    case GB_VALUE_ERROR: type = PyExc_ValueError; break;
    case GB_TYPE_ERROR: type = PyExc_TypeError; break;
    case GB_MEMORY_ERROR: type = PyExc_MemoryError; break;
    case GB_BUFFER_ERROR: type = PyExc_BufferError; break;
    case GB_BACKEND_ERROR: type = gb_py_BackendError; break;
    case GB_SIGNATURE_ERROR: return raise_signature_error(e->message);
    }
    return PyErr_SetString(type, e->message), -1;
}
