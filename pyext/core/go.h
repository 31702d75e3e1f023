/* go.h: the only way into Go. */
#pragma once

#include "../../bridge/bridge.h"
#include "common.h"

extern PyObject *gb_py_BackendError;   /* ValueError and RuntimeError */

int gb_py_refuse_go(void);             /* raises: this is a forked child */
int gb_py_forked_error(gb_error *e);    /* the same into *e; -1 */
int gb_py_raise(const gb_error *e);    /* raises what Go reported; -1 */
int gb_py_setup_error(const char *format, ...);   /* raises SignatureError; -1 */

/* GB_PY_ENTER_GO(&error, call): -1 with a Python error set, or 0. In a forked child
 * Go has no threads left and entering it would hang for good. */
#define GB_PY_ENTER_GO(error, call) \
    (gb_forked ? gb_py_refuse_go() : ((error)->kind = 0, (error)->message[0] = 0, (call) == 0 ? 0 : gb_py_raise(error)))

/* The same without the GIL, for work of more than some microseconds. */
#define GB_PY_ENTER_GO_UNLOCKED(error, call)                                           \
    __extension__({                                                                    \
        int rc_ = -2;                                                                  \
        PyThreadState *state_ = PyEval_SaveThread();                                   \
        if (!gb_forked) (error)->kind = 0, (error)->message[0] = 0, rc_ = (call);      \
        PyEval_RestoreThread(state_);                                                  \
        rc_ == 0 ? 0 : rc_ == -2 ? gb_py_refuse_go() : gb_py_raise(error);             \
    })

/* For a thread that does not hold the GIL, or may not raise: what went wrong is in *error only. */
#define GB_PY_ENTER_GO_DETACHED(error, call) \
    (gb_forked ? gb_py_forked_error(error) : ((error)->kind = 0, (error)->message[0] = 0, (call) == 0 ? 0 : -1))
