/* trace.c: with GRIDBUF_TRACE=1, and in debug mode, every block remembers the line of Python that
 * asked for it. */
#include "trace.h"
#include "pending.h"
#include "plan.h"

int gb_py_tracing;
void (*gb_py_on_block)(void *data, int64_t bytes);

static int raise_again(void *exception) {
    PyErr_SetObject((PyObject *)Py_TYPE((PyObject *)exception), exception);
    Py_DECREF((PyObject *)exception);
    return -1;
}

/* What a signal's handler raised while a plan was written as text: raised again when Python next
 * looks for signals. */
static void hand_on(void) {
    PyObject *type, *value, *traceback;
    if (!PyErr_Occurred()) return;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    int ours = PyErr_GivenExceptionMatches(value, PyExc_MemoryError) ||
               PyErr_GivenExceptionMatches(value, PyExc_RecursionError);
    if (ours || Py_AddPendingCall(raise_again, value) < 0) Py_XDECREF(value);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
}

/* The note's first line is the place; with GRIDBUF_DEBUG=1 the second is what was asked for. */
void gb_py_trace(void *data, int64_t bytes, uint64_t plan_number) {
    if (gb_py_tracing & GB_PY_TRACE_BLOCKS) gb_py_on_block(data, bytes);
    if (!(gb_py_tracing & GB_PY_TRACE_LINES)) return;
    GB_PY_ASIDE; /* a trace that cannot be made is no reason to fail, nor to forget a failure */
    PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
    GB_PY_OWNED PyObject *code = frame ? (PyObject *)PyFrame_GetCode(frame) : NULL;
    GB_PY_OWNED PyObject *name = code ? PyObject_GetAttrString(code, "co_filename") : NULL;
    GB_PY_HELD PyObject *plan = NULL;
    if (gb_debugging && plan_number) plan = (PyObject *)gb_py_plan_by_number(plan_number);
    GB_PY_OWNED PyObject *what = plan ? PyObject_Repr(plan) : NULL;
    GB_PY_OWNED PyObject *text = name ? PyUnicode_FromFormat(what ? "%U:%d\n%U" : "%U:%d", name,
                                                             PyFrame_GetLineNumber(frame), what)
                                      : NULL;
    const char *utf8 = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (utf8) gb_heap_set_note(data, strdup(utf8));
    hand_on();
}

int gb_py_trace_init(PyObject *module) {
    if (gb_debugging || gb_setting_is("GRIDBUF_TRACE", "1")) gb_py_tracing = GB_PY_TRACE_LINES;
    return 0;
}
