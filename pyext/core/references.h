/* references.h: the exception on its way: what of it may be swallowed, and keeping it while
 * somebody else's code runs. */
#pragma once

#include "common.h"

/* 1: the pending exception said that a description is wrong, and is gone: another way may be tried,
 * or a better error raised. 0: it said something else (Ctrl-C, no memory, ...), and stays. */
int gb_py_clear_description_error(void);

/* The same for what NumPy raised: of a buffer that it cannot read it says RuntimeError or
 * NotImplementedError. */
int gb_py_clear_numpy_error(void);

/* Puts the argument's name before the message of the pending exception, in place of the "data" that
 * wrapping says; with always, also before a message that says nothing of the kind. */
void gb_py_prefix_error(const char *argument, int always);

/* From here to the end of the block no exception is pending; then the one that was is again,
 * whatever has been raised meanwhile. */
#define GB_PY_SAVED_ERROR                                                                  \
    __attribute__((cleanup(gb_py_restore_error), unused)) gb_py_saved_error saved_error_ = \
        gb_py_save_error()
typedef struct gb_py_saved_error {
    PyObject *type, *value, *traceback;
} gb_py_saved_error;
static inline gb_py_saved_error gb_py_save_error(void) {
    gb_py_saved_error a;
    PyErr_Fetch(&a.type, &a.value, &a.traceback);
    return a;
}
static inline void gb_py_restore_error(gb_py_saved_error *a) {
    PyErr_Restore(a->type, a->value, a->traceback);
}

/* Drops a reference to somebody else's object, whose destructor may clear the pending exception.
 * obj may be NULL. */
void gb_py_decref_last_foreign(PyObject *obj);
static inline void gb_py_decref_foreign(PyObject *obj) {
    if (obj && Py_REFCNT(obj) == 1) gb_py_decref_last_foreign(obj);
    else Py_XDECREF(obj);
}

/* As GB_PY_OWNED, for somebody else's object. */
#define GB_PY_HELD __attribute__((cleanup(gb_py_drop_held)))
static inline void gb_py_drop_held(void *place) {
    gb_py_decref_foreign(*(PyObject *__attribute__((may_alias)) *)place);
}

/* ---- releasing what consumers hold. ---- */

/* Drop a reference from any thread, with or without the GIL, also after Python is
 * gone. Without the GIL the object waits on a list that gb_py_decref_waiting empties. */
void gb_py_decref_any_thread(void *object);
void gb_py_decref_owner(
    PyObject *owner); /* with the GIL; however long the chain of owners behind it is */
void gb_py_decref_waiting(void);

/* Keeps an argument for a while longer than the call that fails: the caller drops it while the
 * exception is pending, which its destructor might clear. */
void gb_py_decref_later(PyObject *object);
