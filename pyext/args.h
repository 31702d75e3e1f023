/* args.h: from the arguments of a call to a request for memory. */
#ifndef GRIDBUF_ARGS_H
#define GRIDBUF_ARGS_H

#include "../alloc/planner.h"
#include "dtype.h"
#include "go.h"

/* Every keyword that a constructor of ours can have. */
enum {
    A_SHAPE, A_DTYPE, A_FILL_VALUE, A_BACKEND, A_DIMENSIONS, A_ALIGNED_INDEX, A_HALO, A_LAYOUT, A_BYTE_ALIGNMENT,
    A_PADDING, A_DEVICE, A_MEMORY, A_DIMS, A_ORIGIN, A_DATA, A_ALIGNMENT, A_X, A_COPY, A_COUNT
};
#define A_BIT(slot) (1u << (slot))
#define A_SPEC                                                                                                 \
    (A_BIT(A_SHAPE) | A_BIT(A_DTYPE) | A_BIT(A_BACKEND) | A_BIT(A_DIMENSIONS) | A_BIT(A_ALIGNED_INDEX) |      \
     A_BIT(A_HALO) | A_BIT(A_LAYOUT) | A_BIT(A_BYTE_ALIGNMENT) | A_BIT(A_PADDING) | A_BIT(A_DEVICE) | A_BIT(A_MEMORY))

typedef struct gb_signature {
    const char *name;
    int positional[4];   /* slots, in order */
    int n_positional, n_required;
    uint32_t allowed;
} gb_signature;

int gb_args_init(void);

/* Sort the arguments of a vectorcall into slots (borrowed; NULL = not given). */
int gb_args(const gb_signature *sig, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **slots);

/* Lists of numbers. Each returns the length, or -1 with an error that names arg. */
int gb_ints(PyObject *obj, const char *arg, int64_t *out, int room);
int gb_dims(PyObject *obj, const char *arg, int32_t *out, int room);
/* Pairs (low, high); out has 2 * room entries. A bare int is a TypeError. */
int gb_halo(PyObject *obj, int64_t *out, int room);
PyObject *gb_dims_tuple(const int32_t *dims, int ndim);
PyObject *gb_ints_tuple(const int64_t *values, int n);
int gb_int64(PyObject *obj, const char *arg, const char *expected, int64_t *out);

/* What a call asked for besides memory; in index order, base entries only. */
typedef struct gb_meta {
    int base;                        /* indices without those of a sub-shape dtype */
    int has_dims, has_halo, has_origin;
    int64_t halo[2 * GB_MAXDIMS], origin[GB_MAXDIMS];
} gb_meta;

/* The whole request. *dtype is a new reference. */
int gb_read_request(PyObject **slots, gb_request *request, gb_dtype **dtype, gb_meta *meta);

/* Origin and halo of memory that has a shape already. */
int gb_read_meta(PyObject *origin, PyObject *halo, const int64_t *shape, int ndim, gb_meta *meta);

/* backends.c */
PyObject *gb_backend_names(PyObject *self, PyObject *none);
/* The preset's number, and for one with a function the layout written into r. */
int gb_read_backend(PyObject *obj, gb_request *r);
int gb_add_backend(PyObject *name, PyObject *layout, gb_preset *preset);   /* layout: the function, where its order is one */

#endif
