/* fused.h: gridbuf.fused's C side: a fused kernel bound to operands as they lie in memory, and the
 * call of a function that was traced before. */
#pragma once

#include "../gufunc/gufunc.h"
#include "../storage/storage.h"

#define GB_PY_FUSED_MOST_STEPS 256
#define GB_PY_FUSED_PROGRAM "gridbuf.fused.program" /* the name of a capsule */

typedef struct gb_py_fused_call gb_py_fused_call;
extern PyTypeObject *gb_py_FusedCallType;

/* The result of a call; flags: exceptions of each step. NotImplemented: the operands are others;
 * None: an out overlaps an input. outs NULL: new ones. */
PyObject *gb_py_fused_run(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *const *outs, Py_ssize_t nouts, int workers, uint8_t *flags);

long long gb_py_fused_saved(PyObject *self);

/* Tells NumPy what the steps raised, once for each kind; -1 with an error. */
int gb_py_fused_report(PyObject *self, const uint8_t *flags);

/* ---- operand.c: the requirements of a bound call on each operand, and their check ---- */

/* GIVEN_SAME: this very object; GIVEN_NUMBER: a number of this type, whatever its value. */
enum { GB_PY_GIVEN_MEMORY, GB_PY_GIVEN_NUMBER, GB_PY_GIVEN_SAME };

typedef struct gb_py_given {
    int role, type, ndim; /* type: NumPy's number */
    uint8_t dims_given, has_origin, has_halo;
    PyTypeObject *class;
    PyObject *object; /* a storage's Meta, or the object of GIVEN_SAME; owned */
    PyObject *plan;   /* of a Field that is no view; owned */
    int64_t *words;   /* shape, strides, dims, origin, halo */
} gb_py_given;

int gb_py_given_set(gb_py_given *g, PyObject *obj, int role); /* -1 with an error */
void gb_py_given_clear(gb_py_given *g);
/* 1: it is, and its memory is at *data; 0. */
int gb_py_given_is(const gb_py_given *g, PyObject *obj, char **data);
int gb_py_given_writable(PyObject *obj);

/* A number as an element of that gb_type, where that needs no more than a look; 0. */
int gb_py_given_number(char *to, int type, PyObject *number);
