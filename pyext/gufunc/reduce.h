/* reduce.h: g.reduce: from arguments to a planned reduction, and back. */
#ifndef GRIDBUF_PYGUFUNC_REDUCE_H
#define GRIDBUF_PYGUFUNC_REDUCE_H

#include "../../gufunc/reduce.h"
#include "../field/field.h"
#include "gufunc.h"

/* What a reduction asks Python for once: which kernel folds these types. The first five are the key. */
typedef struct gb_folding {
    uint8_t array, dtype, out, ordered, extras;     /* types, 0: not given; extras: where or initial is */
    uint8_t state, sequential, has_identity, type;  /* type: of an accumulator */
    int32_t kernel;
    char identity[GB_MAX_ITEM];
} gb_folding;

/* An array or a Field, read; the pointers are valid until Python code runs. */
typedef struct gb_view {
    uint8_t type, swapped, misaligned, absent;
    int32_t ndim, named;
    const int64_t *shape, *strides;
    const int32_t *dims;
    char *data;
} gb_view;

/* The arguments of a reduction. Objects are owned. */
typedef struct gb_reduce_args {
    gb_gufunc_object *gufunc;
    PyObject *array, *where, *out[GB_MAXARGS], *given[GB_MAXARGS];  /* where NULL: everything; out NULL: new ones */
    PyObject *initial;                  /* NULL: not given */
    int naxes;                          /* -1: all */
    int64_t axes[GB_MAXDIMS];
    uint8_t by_name[GB_MAXDIMS];
    uint8_t dtype;
    int keepdims, ordered, workers, errors;
    /* worked out from them */
    const gb_folding *choice;
    gb_view view, mask, result[GB_MAXARGS];
    int gone[GB_MAXDIMS], ngone;
} gb_reduce_args;

enum { GB_REDUCE_RAISE, GB_REDUCE_RETURN, GB_REDUCE_WARN, GB_REDUCE_IGNORE };

/* reduce_args.c */
int gb_reduce_args_init(void);
int gb_read_reduce_args(gb_reduce_args *q, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
int gb_read_views(gb_reduce_args *q);
void gb_reduce_args_clear(gb_reduce_args *q);
int gb_view_of(gb_view *v, PyObject *obj);                          /* 0: neither an ndarray nor a Field in host memory */

/* reduce_cache.c */
const gb_folding *gb_folding_for(gb_reduce_args *q, uint8_t array, uint8_t out);
gb_entry *gb_planned_for(gb_reduce_args *q);                      /* owned; NULL with an error */
void gb_reducers_free(gb_gufunc_object *g);

/* reduce_result.c */
PyObject *gb_reduce_result(const gb_reduce_args *q, const gb_reduction *r, int i, void *data);   /* takes data, of the heap */
PyObject *gb_reduce_outcome(gb_reduce_args *q, const gb_reduction *r, PyObject *result, gb_reducing *run);

/* reduce.c */
PyObject *gb_gufunc_reduce(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
PyObject *gb_gufunc_add_state(PyObject *self, PyObject *args);

#endif
