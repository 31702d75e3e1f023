/* reducing.h: the arguments of g.reduce, read, planned, and their results. */
#pragma once

#include "../../gufunc/reduction.h"
#include "../field/field.h"
#include "gufunc.h"

/* The kernel that folds these types, from Python. The first five members are the key. */
typedef struct gb_py_folding {
    /* types, 0: not given; extras: where or initial is */
    uint8_t array, dtype, out, ordered, extras;
    uint8_t state, sequential, has_identity, type; /* type: of an accumulator */
    int32_t kernel;
    char identity[GB_GU_MAX_ITEM];
} gb_py_folding;

/* The arguments of a reduction. Objects are owned. */
typedef struct gb_py_reduce_args {
    gb_py_gufunc_object *gufunc;
    /* where NULL: all elements; out NULL: new ones */
    PyObject *array, *where, *out[GB_GU_MAXARGS], *given[GB_GU_MAXARGS];
    PyObject *initial; /* NULL: not given */
    int naxes;         /* -1: all */
    int64_t axes[GB_MAXDIMS];
    int64_t by_name; /* bit i: axes[i] is a name */
    uint8_t dtype;
    int keepdims, ordered, workers, errors;
    /* worked out from them */
    gb_py_folding choice;
    gb_py_arg view, mask, result[GB_GU_MAXARGS]; /* without references */
} gb_py_reduce_args;

/* reduce_args.c */
int gb_py_read_reduce_args(gb_py_reduce_args *q, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames);
int gb_py_read_views(gb_py_reduce_args *q);
void gb_py_reduce_args_clear(gb_py_reduce_args *q);

int gb_py_choose_folding(gb_py_reduce_args *q, uint8_t array, uint8_t out); /* -1 with an error */
gb_py_entry *gb_py_planned_for(gb_py_reduce_args *q); /* owned; NULL with an error */
void gb_py_reducers_free(gb_py_gufunc_object *g);
