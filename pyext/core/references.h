/* references.h: the pending exception: which kinds may be cleared, and keeping it while foreign
 * code runs; references to foreign objects, and those that any thread may drop. */
#pragma once

#include "common.h"

/* 1: the pending exception was about a description, and is cleared: try another way, or raise a
 * better error. 0: any other exception (Ctrl-C, no memory, ...) stays. */
int gb_py_clear_description_error(void);

/* The same for an error of NumPy, which raises RuntimeError or NotImplementedError for a buffer
 * that it cannot read. */
int gb_py_clear_numpy_error(void);

/* Put the argument's name before the message of the pending exception, in place of "data", as
 * wrapping names it; with always, also before messages without an argument. */
void gb_py_prefix_error(const char *argument, int always);

/* Save the pending exception until the end of the block, where it is pending again, whatever was
 * raised meanwhile. */
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

/* Drop a reference to a foreign object, whose destructor may clear the pending exception. obj may
 * be NULL. */
void gb_py_decref_last_foreign(PyObject *obj);
static inline void gb_py_decref_foreign(PyObject *obj) {
    if (obj && Py_REFCNT(obj) == 1) gb_py_decref_last_foreign(obj);
    else Py_XDECREF(obj);
}

/* As GB_PY_OWNED, for a foreign object. */
#define GB_PY_HELD __attribute__((cleanup(gb_py_drop_held)))
static inline void gb_py_drop_held(void *place) {
    gb_py_decref_foreign(*(PyObject *__attribute__((may_alias)) *)place);
}

/* ---- releasing from any thread ---- */

/* Drop a reference from any thread, with or without the GIL, also after Python is
 * gone. Without the GIL the object waits on a list that gb_py_decref_waiting empties. */
void gb_py_decref_any_thread(void *object);
void gb_py_decref_owner(PyObject *owner); /* with the GIL; chains of owners of any length */
void gb_py_decref_waiting(void);

/* Keep an argument beyond a call that fails: the caller drops it while the exception is pending,
 * which its destructor might clear. */
void gb_py_decref_later(PyObject *object);
