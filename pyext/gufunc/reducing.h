/* reducing.h: the arguments of g.reduce, read, planned, and their results. */
#pragma once

#include "../../gufunc/reduction.h"
#include "../field/field.h"
#include "gufunc.h"

/* What a reduction asks Python for once: which kernel folds these types. The first five are the
 * key. */
typedef struct gb_py_folding {
    uint8_t array, dtype, out, ordered,
        extras; /* types, 0: not given; extras: where or initial is */
    uint8_t state, sequential, has_identity, type; /* type: of an accumulator */
    int32_t kernel;
    char identity[GB_GU_MAX_ITEM];
} gb_py_folding;

/* The arguments of a reduction. Objects are owned. */
typedef struct gb_py_reduce_args {
    gb_py_gufunc_object *gufunc;
    PyObject *array, *where, *out[GB_GU_MAXARGS],
        *given[GB_GU_MAXARGS]; /* where NULL: everything; out NULL: new ones */
    PyObject *initial;         /* NULL: not given */
    int naxes;                 /* -1: all */
    int64_t axes[GB_MAXDIMS];
    int64_t by_name; /* bit i: axes[i] is a name */
    uint8_t dtype;
    int keepdims, ordered, workers, errors;
    /* worked out from them */
    gb_py_folding choice;
    gb_py_arg view, mask, result[GB_GU_MAXARGS]; /* which keep nothing */
} gb_py_reduce_args;

/* reduce_args.c */
int gb_py_read_reduce_args(gb_py_reduce_args *q, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames);
int gb_py_read_views(gb_py_reduce_args *q);
void gb_py_reduce_args_clear(gb_py_reduce_args *q);

/* reduce_cache.c */
int gb_py_choose_folding(gb_py_reduce_args *q, uint8_t array, uint8_t out); /* -1 with an error */
gb_py_entry *gb_py_planned_for(gb_py_reduce_args *q); /* owned; NULL with an error */
void gb_py_reducers_free(gb_py_gufunc_object *g);

/* reduce_result.c */
PyObject *gb_py_reduce_result(const gb_py_reduce_args *q, const gb_gu_reduction *r, int i,
                              void *data); /* takes data, of the heap */
PyObject *gb_py_reduce_outcome(gb_py_reduce_args *q, const gb_gu_reduction *r, PyObject *result,
                               gb_gu_reducing *run);
