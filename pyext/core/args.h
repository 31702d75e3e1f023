/* args.h: the arguments of a call, one by one, and the keywords of requests for memory. */
#pragma once

#include "common.h"
#include "dtype.h"
#include "go.h"
#include "../../alloc/plan.h"

/* Default backend: `name` is that of the process (NULL: C); `ask` is called for the context's own
 * (NULL: no context has one). */
typedef struct {
    PyObject *name, *ask;
} gb_py_default_backend;
extern gb_py_default_backend gb_py_default;
/* number of registrations: part of the key of what is remembered by a backend's name */
extern int gb_py_registered_so_far;

/* Lists of numbers. Each returns the length, or -1 with an error that names arg. */
int gb_py_ints(PyObject *obj, const char *arg, int64_t *out, int room);
int gb_py_dims(PyObject *obj, const char *arg, int32_t *out, int room);
/* Whether a layout has the rank of each index's stride; else it names the indices, the one of the
 * largest stride first. */
int gb_py_in_ranks(PyObject *layout);
/* Pairs (low, high); out has 2 * room entries. An int is the width for each of ndim dims. */
int gb_py_halo(PyObject *obj, int ndim, int64_t *out, int room);
PyObject *gb_py_dims_tuple(const int32_t *dims, int ndim);
/* The name behind a code from GB_DIM_NAMED on. */
const char *gb_py_own_name(int32_t code);
PyObject *gb_py_ints_tuple(const int64_t *values, int n);
PyObject *gb_py_pairs_tuple(const int64_t *pairs, int n); /* ((low, high), ...) */
/* Improve the pending error of PyArg_ParseTupleAndKeywords: an unknown keyword gets a suggestion
 * from `takes`. */
void gb_py_unknown_keyword(const char *function, PyObject *kwargs, char **takes);
/* Raise the message, followed by the nearest of the known words (a tuple) if one is near. Takes
 * known and message. */
void gb_py_error_with_suggestion(PyObject *type, PyObject *word, PyObject *known,
                                 PyObject *message);
/* The contents of a bytes object, without a copy; 0, or -1 with a TypeError that names arg. */
int gb_py_bytes(PyObject *obj, const char *arg, const char **out, Py_ssize_t *size);
int gb_py_int64(PyObject *obj, const char *arg, const char *expected, int64_t *out);
/* 1 or 0, from a bool of Python or NumPy; -1 with a TypeError */
int gb_py_bool(PyObject *obj, const char *arg, const char *expected);
/* copy=: 1 or 0; -2 for None or NULL; -1 with a TypeError. */
int gb_py_read_copy(PyObject *obj);

/* backends.c */
/* Number of the preset; a layout that is a function is called, and its answer written into r. */
int gb_py_read_backend(PyObject *obj, gb_request *r);
/* layout: the function of a preset of order GB_BY_CALLER */
int gb_py_add_backend(PyObject *name, PyObject *layout, gb_preset *preset);

/* ---- keywords ---- */

/* X-macro of all keywords: KEYWORD(slot, text, whether every request for memory takes it). */
#define GB_PY_KEYWORDS(KEYWORD)                                                         \
    KEYWORD(SHAPE, "shape", 1)                                                          \
    KEYWORD(DTYPE, "dtype", 1)                                                          \
    KEYWORD(BACKEND, "backend", 1)                                                      \
    KEYWORD(DIMENSIONS, "dimensions", 1)                                                \
    KEYWORD(ALIGNED_INDEX, "aligned_index", 1)                                          \
    KEYWORD(HALO, "halo", 1)                                                            \
    KEYWORD(LAYOUT, "layout", 1)                                                        \
    KEYWORD(BYTE_ALIGNMENT, "byte_alignment", 1)                                        \
    KEYWORD(PADDING, "padding", 1)                                                      \
    KEYWORD(DEVICE, "device", 1)                                                        \
    KEYWORD(MEMORY, "memory", 1)                                                        \
    KEYWORD(FILL_VALUE, "fill_value", 0) /* full and Field.full */                      \
    KEYWORD(DIMS, "dims", 1)             /* the same as dimensions */                   \
    KEYWORD(ORIGIN, "origin", 0)         /* Field.empty and its kin, from_dlpack */     \
    KEYWORD(ALIGNMENT, "alignment", 0)   /* empty_elements, where it counts elements */ \
    KEYWORD(X, "x", 0)                   /* from_dlpack */                              \
    KEYWORD(COPY, "copy", 0)             /* from_dlpack */                              \
    KEYWORD(DATA, "data", 0)             /* unmet */                                    \
    KEYWORD(NAME, "name", 0) /* register_backend, which has some of the others as well */

#define GB_PY_KEYWORD_SLOT(name, text, shared) GB_PY_ARG_##name,
enum { GB_PY_KEYWORDS(GB_PY_KEYWORD_SLOT) GB_PY_ARG_COUNT };
#define GB_PY_ARG_BIT(slot) (1u << (slot))
#define GB_PY_KEYWORD_SHARED(name, text, shared) | (shared ? GB_PY_ARG_BIT(GB_PY_ARG_##name) : 0)
enum { GB_PY_ARG_SPEC = 0 GB_PY_KEYWORDS(GB_PY_KEYWORD_SHARED) };

typedef struct gb_py_signature {
    const char *name;
    int positional[4]; /* slots, in order */
    int n_positional, n_required;
    uint32_t allowed;
    /* use the default backend where the call names neither a backend nor a layout */
    int takes_default;
} gb_py_signature;

/* Sort the arguments of a vectorcall into slots (borrowed; NULL = not given). */
int gb_py_args(const gb_py_signature *sig, PyObject *const *args, Py_ssize_t nargs,
               PyObject *kwnames, PyObject **slots);

/* Fields of a request besides memory, in index order, without the indices of a sub-shape dtype. All
 * members from has_dims to halo are 0 where the call did not give them. */
typedef struct gb_py_meta {
    int base; /* indices without those of a sub-shape dtype */
    int has_dims, has_halo, has_origin;
    PyObject *fill_value; /* borrowed from the call, or NULL */
    /* valid where has_halo and has_origin are set */
    int64_t halo[2 * GB_MAXDIMS], origin[GB_MAXDIMS];
} gb_py_meta;

/* Clear all but the lists. */
static inline void gb_py_meta_clear(gb_py_meta *meta) {
    memset(meta, 0, offsetof(gb_py_meta, halo));
}
static inline int gb_py_meta_is_clear(const gb_py_meta *meta) {
    const char *from = (const char *)&meta->has_dims, *end = (const char *)meta->halo;
    while (from < end && !*from) from++;
    return from == end;
}

/* Read the whole request. *dtype is a new reference. */
int gb_py_read_request(PyObject **slots, gb_request *request, gb_py_dtype **dtype,
                       gb_py_meta *meta);

/* Read origin and halo for memory that has a shape already. */
int gb_py_read_meta(PyObject *origin, PyObject *halo, const int64_t *shape, int ndim,
                    gb_py_meta *meta);

/* Define empty, zeros, ones and full in a file that has make(sig, args, nargs, kwnames, zero) and
 * make_filled(sig, args, nargs, kwnames, value), where value NULL means the call's fill_value. */
#define GB_PY_DEFINE_CONSTRUCTORS(p, text, spec)                                             \
    static const gb_py_signature                                                             \
        empty_signature = {text "empty", {GB_PY_ARG_SHAPE, GB_PY_ARG_DTYPE}, 2, 1, spec, 1}, \
        zeros_signature = {text "zeros", {GB_PY_ARG_SHAPE, GB_PY_ARG_DTYPE}, 2, 1, spec, 1}, \
        ones_signature = {text "ones", {GB_PY_ARG_SHAPE, GB_PY_ARG_DTYPE}, 2, 1, spec, 1},   \
        full_signature = {text "full",                                                       \
                          {GB_PY_ARG_SHAPE, GB_PY_ARG_FILL_VALUE, GB_PY_ARG_DTYPE},          \
                          3,                                                                 \
                          2,                                                                 \
                          (spec) | GB_PY_ARG_BIT(GB_PY_ARG_FILL_VALUE),                      \
                          1};                                                                \
    PyObject *p##empty GB_PY_GIVEN_NAMED {                                                   \
        return make(&empty_signature, args, nargs, kwnames, 0);                              \
    }                                                                                        \
    PyObject *p##zeros GB_PY_GIVEN_NAMED {                                                   \
        return make(&zeros_signature, args, nargs, kwnames, 1);                              \
    }                                                                                        \
    PyObject *p##full GB_PY_GIVEN_NAMED {                                                    \
        return make_filled(&full_signature, args, nargs, kwnames, NULL);                     \
    }                                                                                        \
    PyObject *p##ones GB_PY_GIVEN_NAMED {                                                    \
        GB_PY_OWNED PyObject *one = PyLong_FromLong(1);                                      \
        return one ? make_filled(&ones_signature, args, nargs, kwnames, one) : NULL;         \
    }
