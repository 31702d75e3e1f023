/* go.h: the only way into Go, whose library the first call loads (go.c). */
#pragma once

#include "../../alloc/system.h"
#include "../../bridge/bridge.h"
#include "common.h"

extern PyObject *gb_py_BackendError; /* ValueError and RuntimeError */
extern const gb_bridge_go *gb_py_go; /* Go's calls; NULL until the library is there */
extern int gb_py_go_process;         /* gb_forked of the process that loaded it */

int gb_py_go_load(gb_error *e); /* -1: *e says why Go cannot be entered in this process */
/* Whether this is a child of the process that loaded Go, which must never enter it. */
static inline int gb_py_go_lost(void) { return gb_py_go && gb_forked != gb_py_go_process; }
int gb_py_raise(const gb_error *e);             /* raises an error of Go; -1 */
int gb_py_setup_error(const char *format, ...); /* raises SignatureError; -1 */

/* -1 where Go's runtime, which ends the process when it gets no memory, has too few addresses. */
int gb_py_go_enter(gb_error *e);

/* Loads Go unless it is there; -1 without addresses for a call, and in a child of the process that
 * loaded Go, where entering it would hang for good. *e is empty, or says why. */
static inline int gb_py_go_ready(gb_error *e) {
    e->kind = 0;
    e->message[0] = 0;
    return gb_py_go && gb_forked == gb_py_go_process ? gb_py_go_enter(e) : gb_py_go_load(e);
}

/* For a thread that does not hold the GIL, or may not raise: -1 with *error filled in, or 0. */
#define GB_PY_ENTER_GO_DETACHED(error, call) (gb_py_go_ready(error) == 0 && (call) == 0 ? 0 : -1)

/* GB_PY_ENTER_GO(&error, call): -1 with a Python error set, or 0. */
#define GB_PY_ENTER_GO(error, call) \
    (GB_PY_ENTER_GO_DETACHED(error, call) == 0 ? 0 : gb_py_raise(error))
