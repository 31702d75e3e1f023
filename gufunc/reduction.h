/* reduction.h: a planned reduction, compiled by Go, and one run of it.
 *
 * A reduction has loops that stay (kept) and loops that go (fold). It is cut into tasks:
 * a range of outputs (tile) times a range of what is folded (block), by the shape alone,
 * so the bits do not depend on who runs them. The tasks are the elements of a gb_gu_call, so
 * the engine shares them out. Where there are several blocks, each gives a part, and the
 * parts are joined in their order at the end.
 *
 * Nothing here needs Go or Python.
 */
#pragma once

#include "call.h"

#include <pthread.h>

enum { GB_GU_MAX_ITEM = 2 * sizeof(long double) }; /* bytes of the largest element type */
_Static_assert(GB_GU_MAX_ITEM <= 32 && GB_GU_MAX_ITEM >= 16,
               "starts, identities and scratch memory are sized by it");

/* Flags of a reduction. */
enum {
    GB_GU_R_ACROSS = 1, /* outputs that are neighbours in memory are folded side by side */
    GB_GU_R_IN_PLACE =
        2, /* the loop is NumPy's own: it folds a row when its first input is its output */
    GB_GU_R_SEQUENTIAL = 4, /* from left to right */
    GB_GU_R_MASKED = 8,
    GB_GU_R_IDENTITY = 16, /* the run has one */
    GB_GU_R_STATE = 32,    /* with a state */
    GB_GU_R_STAGED = 64    /* the input goes through scratch memory */
};

/* What is folded into one accumulator before it goes into that of the next level, which
 * keeps rounding errors as small as pairwise sums have them. */
enum { GB_GU_R_LEVELS = 4, GB_GU_R_CASCADE = 128 };

/* The distance of turned columns: not a power of two, which would put them into the same cache
 * sets. */
#define GB_GU_R_COLUMN(bytes) ((((bytes) + 63) & ~63ll) + 64)

/* The functions of a reduction with a state; its initial value is size bytes at init. */
typedef struct gb_gu_state_kernel {
    void (*step)(void *state, intptr_t first, intptr_t n, char **args, intptr_t const *steps,
                 void *data);
    void (*merge)(void *state, void const *later, void *data);
    int (*final)(void const *state, char **outs, void *data);
    void *data;
    const void *init;
    int64_t size;
} gb_gu_state_kernel;

typedef struct gb_gu_reduction {
    gb_gu_call *call; /* its elements are the tasks */
    void *loop, *data;
    gb_gu_state_kernel state;
    int32_t form, flags, nkept, nfold, nout, levels;
    int64_t kept_n, fold_n;
    int64_t in_offset, where_offset; /* from element 0 to where the folding begins, bytes */
    int64_t item;         /* bytes of an accumulator: an element, or a state rounded up */
    int64_t width;        /* outputs folded side by side, at most */
    int64_t piece, lanes; /* elements staged at once; partial results of a row */
    int64_t tile, tiles, block,
        blocks; /* outputs and folded elements of a task, and how many tasks of each */
    int64_t scratch, stage_at, raw_at, lanes_at, status_at;
    int64_t kept_shape[GB_MAXDIMS], fold_shape[GB_MAXDIMS]; /* outermost first */
    int64_t fold_in[GB_MAXDIMS];
    int64_t kept_where[GB_MAXDIMS], fold_where[GB_MAXDIMS];
    int32_t out_ndim;
    uint32_t gone; /* bit a: axis a of the array is folded */
    int64_t out_shape[GB_MAXDIMS], code_strides[GB_MAXDIMS];
    gb_plan *plan[GB_GU_MAXARGS]; /* of results to allocate; NULL: given */
    gb_gu_operand in;             /* strides: along the kept loops */
    gb_gu_operand out[];
} gb_gu_reduction;

/* One run. */
typedef struct gb_gu_reducing {
    const gb_gu_reduction *r;
    const char *in, *where;
    char *out[GB_GU_MAXARGS];
    int32_t has_start, ignore_errors;
    _Alignas(32) char start[GB_GU_MAX_ITEM], identity[GB_GU_MAX_ITEM];
    char *parts;    /* blocks x outputs */
    uint8_t *codes; /* one per output in loop order; NULL while nothing failed; atomic */
    int32_t no_memory, stopped; /* atomic */
    gb_gu_run *job;             /* whose workers run it; NULL: this thread alone */
    pthread_t owner;
    int (*poll)(
        void *with); /* asked by the owner's thread now and then; not 0: stop. May be NULL */
    void *with;
} gb_gu_reducing;

gb_gu_reduction *gb_gu_reduction_new(int nout);
void gb_gu_reduction_free(gb_gu_reduction *r);

/* The kernel of r->call, whose data is a gb_gu_reducing. */
intptr_t gb_gu_reduce_tasks(char **args, intptr_t const *dims, intptr_t const *steps, void *data,
                            uint8_t *status);

/* Get ready; -1: no memory. Everything else: gb_gu_reduce_begin, the tasks, gb_gu_reduce_end. */
int gb_gu_reduce_begin(gb_gu_reducing *run);
void gb_gu_reduce_here(gb_gu_reducing *run); /* all tasks on this thread */
void gb_gu_reduce_stop(
    gb_gu_reducing *run); /* from any thread: tasks end early, and the results say nothing */
void gb_gu_reduce_end(gb_gu_reducing *run);             /* join the parts; gives them back */
int64_t gb_gu_reduce_failed(const gb_gu_reducing *run); /* outputs that failed */
