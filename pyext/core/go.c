/* go.c: entering Go, and what it may leave behind. */
#include "go.h"
#include "upcall.h"

#include <docs.h>

#include <stdarg.h>
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
int gb_py_setup_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    PyObject *type = gb_py_upcall_get(GB_PY_UP_SIGNATURE_ERROR);
    GB_PY_OWNED PyObject *text = type ? PyUnicode_FromFormatV(format, args) : NULL;
    va_end(args);
    if (text) PyErr_SetObject(type, text);
    return -1;
}

int gb_py_raise(const gb_error *e) {
    PyObject *const types[] = {[GB_VALUE_ERROR] = PyExc_ValueError, [GB_TYPE_ERROR] = PyExc_TypeError, [GB_MEMORY_ERROR] = PyExc_MemoryError,
                               [GB_BUFFER_ERROR] = PyExc_BufferError, [GB_BACKEND_ERROR] = gb_py_BackendError};
    if (e->kind == GB_SIGNATURE_ERROR) return gb_py_setup_error("%s", e->message);
    PyObject *type = (size_t)e->kind < sizeof types / sizeof *types ? types[e->kind] : NULL;
    return PyErr_SetString(type ? type : PyExc_RuntimeError, e->message), -1;
}
