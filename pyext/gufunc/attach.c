/* attach.c: threads that Go lends to loops which set Python errors. Such a loop
 * takes the GIL itself where it raises; on a thread that Python does not know, the
 * error would vanish with the thread state that is made for the moment. So the thread
 * is known to Python as long as it works, without the GIL, and its error is handed to
 * whoever called. Only C runs here: no Go function calls Python. */
#include "gufunc.h"

static void *attach(void) {
    PyGILState_Ensure();
    return PyEval_SaveThread();
}

static void detach(gb_gu_run *job, void *thread) {
    PyEval_RestoreThread(thread);
    if (PyErr_Occurred()) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        PyErr_NormalizeException(&type, &value, &trace);
        Py_XDECREF(type);
        Py_XDECREF(trace);
        PyObject *none = NULL; /* the first one stays */
        if (!__atomic_compare_exchange_n((PyObject **)&job->error, &none, value, 0,
                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            Py_XDECREF(value);
        gb_gu_run_stop(job);
    }
    PyGILState_Release(PyGILState_UNLOCKED);
}

__attribute__((constructor)) static void ready(void) {
    gb_gu_attach = attach;
    gb_gu_detach = detach;
}
