/* gufunc.h: gridbuf.gufunc's C side: the call path, from arguments to results. */
#pragma once

#include "../../bridge/gufunc.h"
#include "../../gufunc/reduction.h"
#include "../../transfer/transfer.h"
#include "../field/field.h"

/* An operand: its memory, and properties for resolution. Shape and strides are copies: Python code
 * may run before the operand is used. */
typedef struct gb_py_arg {
    uint8_t type, swapped, misaligned, absent;
    uint8_t weak;        /* a Python number: gufunc.Weak */
    int32_t ndim, ndims; /* ndims: how many of dims are given, -1 none */
    char *data;
    PyObject *keep;               /* holds the memory; owned */
    PyObject *given;              /* the argument; borrowed */
    const gb_py_field *field;     /* keep, where that is a Field */
    _Alignas(16) char number[16]; /* the value of a Python number, once the kernel is known */
    int64_t shape[GB_MAXDIMS], strides[GB_MAXDIMS];
    int32_t dims[GB_MAXDIMS];
} gb_py_arg;

/* Key of the choice of a kernel, and the kernel chosen. */
typedef struct gb_py_choice {
    /* type | GB_BRIDGE_SWAPPED; 0x80 | weak for Python numbers; 0 an output to allocate */
    uint8_t key[GB_GU_MAXARGS];
    uint8_t casting, dtype;
    PyObject *signature;          /* signature= as given, or NULL; owned */
    uint8_t types[GB_GU_MAXARGS]; /* types of the kernel */
    int32_t kernel;
} gb_py_choice;

/* A planned call or reduction, found again by the encoded request. */
typedef struct gb_py_entry {
    union {
        void *plan;
        gb_gu_call *call;
        struct gb_gu_reduction *reduction;
    };
    void (*free_plan)(void *);
    uint64_t hash;
    int64_t refs, n;
    int64_t encoding[];
} gb_py_entry;

#define GB_PY_SETS 64 /* sets of entries, each with the GB_PY_WAYS used last, latest first */
#define GB_PY_WAYS 8

typedef struct gb_py_entries {
    /* latest: the last one used, which is in its set too */
    gb_py_entry *latest, *sets[GB_PY_SETS][GB_PY_WAYS];
} gb_py_entries;

typedef struct gb_py_reducers gb_py_reducers;

typedef struct gb_py_gufunc_object {
    PyObject_HEAD
    gb_bridge_gufunc_info info;
    uint8_t (*kernel_types)[GB_GU_MAXARGS]; /* types of each kernel */
    gb_py_choice *choices;
    int32_t nchoices;
    int asks_sizes;          /* a call may have to compute core sizes in Python (_sizes) */
    PyObject *uniform_names; /* tuple of str */
    gb_py_entries *entries;
    gb_py_reducers *reducers; /* remembered reductions; NULL: none yet */
} gb_py_gufunc_object;

enum { GB_PY_RAISE, GB_PY_RETURN, GB_PY_WARN, GB_PY_IGNORE };

/* Keywords of a call. Values are held by the invocation: later Python code may empty their dict.
 * NULL: not given. */
typedef struct gb_py_keywords {
    PyObject *out, *where, *axes, *axis, *keepdims, *casting, *dtype, *signature, *errors, *workers;
    PyObject *uniform[32];
} gb_py_keywords;

/* A call whose arguments were read. */
typedef struct gb_py_invocation {
    gb_py_gufunc_object *gufunc;
    gb_py_arg arg[GB_GU_MAXARGS + 1]; /* operands; after them the mask */
    PyObject *held[sizeof(gb_py_keywords) / sizeof(PyObject *)];
    int nheld, nop, has_where, kernel, workers, ignore_errors, errors;
    int named;                    /* every input has names: outputs are Fields */
    uint8_t types[GB_GU_MAXARGS]; /* types of the kernel */
    int arrangement, naxes;       /* axis=, axes= and keepdims=, encoded for gufunc/axes.go */
    int64_t axes[1 + GB_GU_MAXARGS * (1 + GB_GU_MAXCORE)];
    void *uniforms;
    _Alignas(16) char pack[32 * 8];
    /* the outcome */
    PyObject *codes; /* NULL: nothing failed */
    int64_t nfailed, nselected;
    gb_py_entry *entry;
} gb_py_invocation;

/* ---- keywords.c ---- */

int gb_py_read_keywords(gb_py_invocation *v, PyObject *kwargs, gb_py_keywords *k);
extern const char *const gb_py_errors_words[4];
int gb_py_read_errors(PyObject *errors); /* number of the choice; NULL: GB_PY_RAISE */
int gb_py_read_casting(PyObject *casting);
int gb_py_read_workers(PyObject *workers, int *n);
int gb_py_read_uniforms(gb_py_invocation *v, const gb_py_keywords *k);
int gb_py_read_axes(gb_py_invocation *v, const gb_py_keywords *k); /* axis=, axes=, keepdims= */

/* ---- operands.c ---- */

void gb_py_arg_keep(gb_py_arg *a, PyObject *obj);
/* Memory of an array, or of a Field of the heap, without a reference; 0: obj is neither. No kernel
 * takes type 0, or ndim > GB_MAXDIMS. */
int gb_py_arg_look(gb_py_arg *a, PyObject *obj);
void gb_py_arg_array(gb_py_arg *a, PyArrayObject *array);
int gb_py_arg_number(gb_py_arg *a, uint8_t type); /* 1: done; 0: it does not fit simply */
int gb_py_read_input(gb_py_arg *a, PyObject *obj, int i);
int gb_py_read_mask(gb_py_arg *a, PyObject *obj);
int gb_py_read_output(gb_py_arg *a, PyObject *obj, int i, int several);
int gb_py_output_allocate(gb_py_invocation *v, int i);
/* (shape, strides, dims or None); None for an output that was given. */
PyObject *gb_py_output_describe(const gb_py_invocation *v, int i);
PyObject *gb_py_results(gb_py_invocation *v);
/* Error codes as an array of the outer shape. Takes the codes. */
PyObject *gb_py_codes_array(uint8_t **codes, int ndim, const int64_t *shape,
                            const int64_t *strides);

/* ---- resolve.c ---- */

/* Words of an encoded request (read by bridge/request.go), at most GB_PY_MOST_WORDS. */
#define GB_PY_MOST_WORDS                                           \
    ((GB_GU_MAXARGS + 2) * (1 + 3 * GB_MAXDIMS) + 3 + GB_MAXDIMS + \
     GB_GU_MAXARGS * (1 + GB_GU_MAXCORE))
#define GB_PY_HEAD(type, swapped, misaligned, absent)                                   \
    ((type) | (swapped) * GB_BRIDGE_O_SWAPPED | (misaligned) * GB_BRIDGE_O_MISALIGNED | \
     (absent) * GB_BRIDGE_O_ABSENT)
/* dims NULL: the operand has no names. */
static inline int64_t *gb_py_encode_operand(int64_t *to, int64_t head, int ndim,
                                            const int64_t *shape, const int64_t *strides,
                                            const int32_t *dims) {
    *to++ = head | (dims ? GB_BRIDGE_O_NAMED : 0) | (int64_t)ndim << GB_BRIDGE_O_NDIM;
    for (int d = 0; d < ndim; d++) {
        to[d] = shape[d];
        to[ndim + d] = strides[d];
        if (dims) to[2 * ndim + d] = dims[d];
    }
    return to + (dims ? 3 : 2) * ndim;
}
/* Owned; NULL: the request is new. */
gb_py_entry *gb_py_entries_find(gb_py_entries *all, const int64_t *encoding, int64_t n,
                                uint64_t *hash);
/* Takes the plan. Owned; NULL with an error. */
gb_py_entry *gb_py_entries_keep(gb_py_entries *all, const int64_t *encoding, int64_t n,
                                uint64_t hash, void *plan, void (*free_plan)(void *));
void gb_py_entry_drop(gb_py_entry *entry);
void gb_py_entries_clear(gb_py_entries *all);

/* The kernel, its types, and the Python numbers in them. */
int gb_py_choose(gb_py_invocation *v, const gb_py_keywords *k);
void gb_py_forget_choices(gb_py_gufunc_object *g);

gb_py_entry *gb_py_entry_for(gb_py_invocation *v); /* owned; NULL with an error */

/* ---- run.c ---- */

int gb_py_run(gb_gu_run *job, int workers);
/* Allocate outputs, run, report failures. -1 with an error set. */
int gb_py_invoke(gb_py_invocation *v);

/* ---- call.c ---- */

PyObject *gb_py_gufunc_call(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_py_gufunc_resolve(PyObject *self, PyObject *args);

/* ---- reduce.c ---- */

PyObject *gb_py_gufunc_reduce(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames);
PyObject *gb_py_gufunc_add_state(PyObject *self, PyObject *args);

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
