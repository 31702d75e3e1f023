/* slots.h: parts of gridbuf._core.CopyProgram: many copies between Fields and messages in one call,
 * on the host or on one GPU. */
#pragma once

#include "copies.h"
#include "../device/device.h"
#include "../../transfer/program.h"

/* Memory that entries count from, and the requirements on the object given for it at each run. */
typedef struct gb_py_slot {
    PyObject *name;       /* name in errors; NULL: bound */
    PyObject *bound;      /* array or Field bound to the slot, or NULL */
    char *base;           /* element 0 of the bound object */
    const int64_t *turns; /* for two buffers used in turn: the lowest bit chooses; or NULL */
    int64_t step;         /* bytes between the two buffers */
    PyArray_Descr *descr; /* NULL: a buffer of bytes */
    PyArray_Descr *equal; /* another object equal to descr, seen last, or NULL */
    int64_t *shape, *strides;
    int64_t *halo;    /* low, high pairs; NULL: dims and halo of Fields are not checked */
    int32_t *dims;    /* codes */
    int64_t low, end; /* range of bytes from element 0 that entries use */
    int ndim;
    int gpu;          /* 0: host memory; else GPU number + 1 */
    uint8_t writable; /* entries may write; so the object must not be read-only */
} gb_py_slot;

/* slots.c */
int gb_py_slot_read(PyObject *obj, Py_ssize_t number, gb_py_slot *slot);
void gb_py_slot_clear(gb_py_slot *slot);
/* Element 0 of obj's memory, after obj was checked against the slot; -1 with an error. 1: Python
 * code may have run, so pointers that were taken before must be taken again. The caller releases
 * views of buffers; managed memory is waited for the first time. */
int gb_py_slot_take(gb_py_slot *slot, PyObject *obj, Py_buffer *view, char **base, int first);

/* entries.c: append one tuple as a copy that stays inside its slots. */
int gb_py_entry_read(PyObject *obj, Py_ssize_t number, const gb_py_slot *slots, Py_ssize_t n_slots,
                     gb_program *program);

/* program.c */
int gb_py_is_program(PyObject *obj);
Py_ssize_t gb_py_program_given(PyObject *program); /* number of objects that a run takes */
/* the caller holds all of them */
int gb_py_program_run(PyObject *program, PyObject *const *args, Py_ssize_t n);
