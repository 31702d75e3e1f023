/* program.h: gridbuf._core.CopyProgram: many copies between Fields and messages in one call, on the
 * host or on one GPU. */
#pragma once

#include "copies.h"
#include "../device/device.h"
#include "../../transfer/program.h"

/* What memory an entry counts from, and what must be given for it at each run. */
typedef struct gb_py_slot {
    PyObject *name;  /* for errors; NULL: bound */
    PyObject *bound; /* the array or Field whose memory this is, always, or NULL */
    char *base;      /* of it */
    const int64_t
        *turns;   /* of two buffers bound in turns: whose lowest bit says which it is; or NULL */
    int64_t step; /* from one to the other */
    PyArray_Descr *descr; /* NULL: a buffer, whose bytes have no type */
    PyArray_Descr *equal; /* another object for the same dtype, seen last, or NULL */
    int64_t *shape, *strides;
    int64_t *halo;    /* low, high pairs; NULL: what Fields say of dims and halo is not looked at */
    int32_t *dims;    /* codes */
    int64_t low, end; /* what may be touched, in bytes from element 0 */
    int ndim;
    int gpu;          /* 0: the host's memory; else that of GPU gpu - 1 */
    uint8_t writable; /* an entry may write here; so the object must not be read-only */
} gb_py_slot;

/* apart.c. 1: these Fields have no byte in common; 0: first and last bytes do not say so; -1: no
 * memory. */
int gb_py_fields_apart(PyObject *const *fields, Py_ssize_t n);

/* slots.c */
int gb_py_slot_read(PyObject *obj, Py_ssize_t number, gb_py_slot *slot);
void gb_py_slot_clear(gb_py_slot *slot);
/* Element 0 of obj's memory, which has to be as the slot says; -1 with an error. 1: Python code may
 * have run, so that what was taken before has to be taken again. Buffers go through views, which
 * the caller releases; managed memory is waited for the first time. */
int gb_py_slot_take(gb_py_slot *slot, PyObject *obj, Py_buffer *view, char **base, int first);

/* entries.c: one tuple as a copy that stays inside its slots, appended. */
int gb_py_entry_read(PyObject *obj, Py_ssize_t number, const gb_py_slot *slots, Py_ssize_t n_slots,
                     gb_program *program);

/* program.c */
int gb_py_is_program(PyObject *obj);
Py_ssize_t gb_py_program_given(PyObject *program); /* objects that it takes at a run */
int gb_py_program_run(PyObject *program, PyObject *const *args,
                      Py_ssize_t n); /* the caller holds all of them */

/* messages.c */
