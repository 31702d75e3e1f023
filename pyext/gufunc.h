/* gufunc.h: gridbuf.gufunc's C side: the call path, from arguments to results. */
#ifndef GRIDBUF_PYGUFUNC_H
#define GRIDBUF_PYGUFUNC_H

#include "../bridge/gufunc.h"
#include "args.h"
#include "go.h"

/* An operand: what resolution needs to know of it, and its memory. */
typedef struct gb_arg {
    uint8_t type, swapped, misaligned, absent;
    uint8_t weak;                   /* a Python number: gufunc.Weak */
    int32_t ndim, ndims;            /* ndims: how many of dims are given, -1 none */
    const npy_intp *shape, *strides;
    int32_t dims[GB_MAXDIMS];
    char *data;
    PyObject *keep;                 /* holds the memory; owned */
    PyObject *given;                /* what the caller passed; borrowed */
    _Alignas(16) char number[16];   /* the value of a Python number, once the kernel is known */
} gb_arg;

/* The kernel for a combination of input types, as found before. */
typedef struct gb_typeset {
    uint8_t key[GB_MAXARGS];        /* types; 0x80 | weak for Python numbers */
    uint8_t types[GB_MAXARGS];      /* of the kernel */
    int32_t kernel;
} gb_typeset;

/* A resolved call, found again by its words. */
typedef struct gb_entry {
    gb_call *call;
    uint64_t hash;
    int64_t refs, n;
    int64_t words[];
} gb_entry;

#define GB_ENTRIES 256

typedef struct gb_reducers gb_reducers;

typedef struct gb_gufunc_object {
    PyObject_HEAD
    gb_gufunc_info info;
    gb_typeset *typesets;
    int32_t ntypesets;
    uint8_t fast;                   /* calls without keywords may skip Python */
    gb_entry **entries;
    gb_reducers *reducers;          /* what was learnt about reductions; NULL: nothing yet */
} gb_gufunc_object;

/* One call, read. */
typedef struct gb_invocation {
    gb_gufunc_object *gufunc;
    gb_arg arg[GB_MAXARGS + 1];     /* operands; after them the mask */
    int nop, has_where, nsizes, kernel, workers, ignore_errors;
    int64_t sizes[GB_MAXCORE];
    const uint8_t *types;           /* of the kernel */
    void *uniforms;
    /* what came of it */
    PyObject *codes;                /* NULL: nothing failed */
    int64_t nfailed, nselected;
    gb_entry *entry;
} gb_invocation;

int gb_gufunc_init(PyObject *module);

/* gufunc_operand.c */
uint8_t gb_type_of_descr(PyArray_Descr *descr);                     /* 0: no kernel can have it */
int gb_npy_type(uint8_t type);
int gb_arg_array(gb_arg *a, PyArrayObject *array);                  /* -1: its dtype is none for kernels */
int gb_arg_number(gb_arg *a, uint8_t type);                         /* 1 done, 0: not this simply */
void gb_invocation_clear(gb_invocation *v);

int gb_threads(void);                                               /* of transfer/, whose header has types of its own */

/* gufunc_cache.c */
gb_entry *gb_entry_for(gb_invocation *v);                           /* owned; NULL with an error */
void gb_entry_drop(gb_entry *entry);

/* gufunc_run.c: allocate, run, fill in what came of it. -1 with an error set. */
int gb_invoke(gb_invocation *v);
int gb_run(gb_sweep *job, int64_t id, int workers);

/* gufunc_call.c */
int gb_gufunc_call_init(void);
PyObject *gb_gufunc_call(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_gufunc_execute(PyObject *self, PyObject *args);

/* gufunc_adopt.c */
PyObject *gb_ufunc_loops(PyObject *self, PyObject *ufunc);
PyObject *gb_capsule_address(PyObject *self, PyObject *capsule);

#endif
