/* fused.h: gridbuf.fused's C side: a fused kernel bound to operands as they lie in memory, and the
 * call of a function that was traced before. */
#pragma once

#include "../gufunc/gufunc.h"
#include "../storage/storage.h"

#define GB_PY_FUSED_MOST_STEPS 256
#define GB_PY_FUSED_PROGRAM "gridbuf.fused.program" /* the name of a capsule */

typedef struct gb_py_fused_call gb_py_fused_call;
extern PyTypeObject *gb_py_FusedCallType;

/* What a call comes to; flags: what each step raised. NotImplemented: the operands are others;
 * None: an out overlaps an input. outs NULL: new ones. */
PyObject *gb_py_fused_run(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *const *outs, Py_ssize_t nouts, int workers, uint8_t *flags);

long long gb_py_fused_saved(PyObject *self);

/* Tells NumPy what the steps raised, once for each kind; -1 with an error. */
int gb_py_fused_report(PyObject *self, const uint8_t *flags);
