/* gufunc.h: gridbuf.gufunc's C side: the call path, from arguments to results. */
#pragma once

#include "../../bridge/gufunc.h"
#include "../../transfer/transfer.h"
#include "../field/field.h"

/* An operand: what resolution needs to know of it, and its memory. Shape and strides are copies:
 * Python may run between reading an operand and using it. */
typedef struct gb_py_arg {
    uint8_t type, swapped, misaligned, absent;
    uint8_t weak;        /* a Python number: gufunc.Weak */
    int32_t ndim, ndims; /* ndims: how many of dims are given, -1 none */
    char *data;
    PyObject *keep;               /* holds the memory; owned */
    PyObject *given;              /* what the caller passed; borrowed */
    const gb_py_field *field;     /* keep, where that is a Field */
    _Alignas(16) char number[16]; /* the value of a Python number, once the kernel is known */
    int64_t shape[GB_MAXDIMS], strides[GB_MAXDIMS];
    int32_t dims[GB_MAXDIMS];
} gb_py_arg;

/* What decides on a kernel, and the kernel found for it before. */
typedef struct gb_py_choice {
    uint8_t key[GB_GU_MAXARGS]; /* type | GB_BRIDGE_SWAPPED; 0x80 | weak for Python numbers; 0 an
                                   output to allocate */
    uint8_t casting, dtype;
    PyObject *signature;          /* as given, or NULL; owned */
    uint8_t types[GB_GU_MAXARGS]; /* of the kernel */
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

#define GB_PY_SETS 64 /* of entries, each the last GB_PY_WAYS that fell into it, latest first */
#define GB_PY_WAYS 8

typedef struct gb_py_entries {
    gb_py_entry *latest,
        *sets[GB_PY_SETS][GB_PY_WAYS]; /* latest: the one last asked for, which is in its set too */
} gb_py_entries;

typedef struct gb_py_reducers gb_py_reducers;

typedef struct gb_py_gufunc_object {
    PyObject_HEAD
    gb_bridge_gufunc_info info;
    uint8_t (*kernel_types)[GB_GU_MAXARGS]; /* of each kernel */
    gb_py_choice *choices;
    int32_t nchoices;
    int asks_sizes;          /* core sizes of a call may have to be asked for (_sizes) */
    PyObject *uniform_names; /* tuple of str */
    gb_py_entries *entries;
    gb_py_reducers *reducers; /* what was learnt about reductions; NULL: nothing yet */
} gb_py_gufunc_object;

enum { GB_PY_RAISE, GB_PY_RETURN, GB_PY_WARN, GB_PY_IGNORE };

/* The keywords of a call, which holds them: their dict may be emptied by what they are asked. NULL:
 * not given. */
typedef struct gb_py_keywords {
    PyObject *out, *where, *axes, *axis, *keepdims, *casting, *dtype, *signature, *errors, *workers;
    PyObject *uniform[32];
} gb_py_keywords;

/* One call, read. */
typedef struct gb_py_invocation {
    gb_py_gufunc_object *gufunc;
    gb_py_arg arg[GB_GU_MAXARGS + 1]; /* operands; after them the mask */
    PyObject *held[sizeof(gb_py_keywords) / sizeof(PyObject *)];
    int nheld, nop, has_where, kernel, workers, ignore_errors, errors;
    int named;                    /* every input has names: outputs are Fields */
    uint8_t types[GB_GU_MAXARGS]; /* of the kernel */
    int arrangement, naxes;       /* axis=, axes= and keepdims=, and the words that say which */
    int64_t axes[1 + GB_GU_MAXARGS * (1 + GB_GU_MAXCORE)];
    void *uniforms;
    _Alignas(16) char pack[32 * 8];
    /* what came of it */
    PyObject *codes; /* NULL: nothing failed */
    int64_t nfailed, nselected;
    gb_py_entry *entry;
} gb_py_invocation;

/* operand.c */
void gb_py_arg_keep(gb_py_arg *a, PyObject *obj);
int gb_py_arg_look(gb_py_arg *a, PyObject *obj); /* the memory of an array or a Field of the heap,
                                                    which is not kept; 0: it is neither */
void gb_py_arg_array(gb_py_arg *a,
                     PyArrayObject *array);       /* type 0, ndim > GB_MAXDIMS: none for kernels */
int gb_py_arg_number(gb_py_arg *a, uint8_t type); /* 1 done, 0: not this simply */
int gb_py_read_input(gb_py_arg *a, PyObject *obj, int i);
int gb_py_read_mask(gb_py_arg *a, PyObject *obj);
int gb_py_read_output(gb_py_arg *a, PyObject *obj, int i, int several);

/* keywords.c */
int gb_py_read_keywords(gb_py_invocation *v, PyObject *kwargs, gb_py_keywords *k);
extern const char *const gb_py_errors_words[4];
int gb_py_read_errors(PyObject *errors); /* its number; NULL: GB_PY_RAISE */
int gb_py_read_casting(PyObject *casting);
int gb_py_read_workers(PyObject *workers, int *n);
int gb_py_read_uniforms(gb_py_invocation *v, const gb_py_keywords *k);

/* choice.c: the kernel, its types, and the Python numbers in them. */
int gb_py_choose(gb_py_invocation *v, const gb_py_keywords *k);
void gb_py_forget_choices(gb_py_gufunc_object *g);

/* axes.c: core axes that are not the last ones. */
int gb_py_read_axes(gb_py_invocation *v, const gb_py_keywords *k);

/* output.c */
int gb_py_output_allocate(gb_py_invocation *v, int i);
PyObject *gb_py_output_describe(const gb_py_invocation *v,
                                int i); /* (shape, strides, dims or None), None for a given one */
PyObject *gb_py_results(gb_py_invocation *v);
PyObject *gb_py_codes_array(uint8_t **codes, int ndim, const int64_t *shape,
                            const int64_t *strides); /* takes the codes */

/* halo.c: halo and origin of a result from those of the inputs. */
int gb_py_join_halos(gb_py_field *result, const gb_py_invocation *v);

/* entries.c. An encoded request (bridge/request.go reads it) is at most GB_PY_MOST_WORDS long. */
#define GB_PY_MOST_WORDS                                           \
    ((GB_GU_MAXARGS + 2) * (1 + 3 * GB_MAXDIMS) + 3 + GB_MAXDIMS + \
     GB_GU_MAXARGS * (1 + GB_GU_MAXCORE))
#define GB_PY_HEAD(type, swapped, misaligned, absent)                                   \
    ((type) | (swapped) * GB_BRIDGE_O_SWAPPED | (misaligned) * GB_BRIDGE_O_MISALIGNED | \
     (absent) * GB_BRIDGE_O_ABSENT)
static inline int64_t *gb_py_encode_operand(int64_t *to, int64_t head, int ndim,
                                            const int64_t *shape, const int64_t *strides,
                                            const int32_t *dims) {
    *to++ = head | (dims ? GB_BRIDGE_O_NAMED : 0) |
            (int64_t)ndim << GB_BRIDGE_O_NDIM; /* dims NULL: no names */
    for (int d = 0; d < ndim; d++) {
        to[d] = shape[d];
        to[ndim + d] = strides[d];
        if (dims) to[2 * ndim + d] = dims[d];
    }
    return to + (dims ? 3 : 2) * ndim;
}
gb_py_entry *gb_py_entries_find(gb_py_entries *all, const int64_t *encoding, int64_t n,
                                uint64_t *hash); /* owned; NULL: it is new */
gb_py_entry *gb_py_entries_keep(
    gb_py_entries *all, const int64_t *encoding, int64_t n, uint64_t hash, void *plan,
    void (*free_plan)(void *)); /* takes the plan; owned; NULL with an error */
const gb_gu_call *gb_py_entries_of_kernel(const gb_py_entries *all,
                                          int kernel); /* any call of it; NULL: there is none */
void gb_py_entry_drop(gb_py_entry *entry);
void gb_py_entries_clear(gb_py_entries *all);

/* cache.c */
gb_py_entry *gb_py_entry_for(gb_py_invocation *v); /* owned; NULL with an error */

/* invoke.c: allocate, run, fill in what came of it. -1 with an error set. */
int gb_py_invoke(gb_py_invocation *v);
int gb_py_run(gb_gu_run *job, int workers); /* run.c */

/* call.c */
PyObject *gb_py_gufunc_call(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *gb_py_gufunc_resolve(PyObject *self, PyObject *args);

/* reduce.c */
PyObject *gb_py_gufunc_reduce(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames);
PyObject *gb_py_gufunc_add_state(PyObject *self, PyObject *args);
