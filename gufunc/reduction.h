/* reduction.h: a planned reduction, compiled by Go, and one run of it.
 *
 * A reduction has loops that stay (kept) and loops that go (fold). It is cut into tasks: a range of
 * outputs (tile) times a range of folded elements (block), by the shape alone, so that the bits do
 * not depend on the number of threads. The tasks are the elements of a gb_gu_call, which shares
 * them among workers. Several blocks each give a partial result, joined in order at the end. */
#pragma once

#include "call.h"

#include <pthread.h>

enum { GB_GU_MAX_ITEM = 2 * sizeof(long double) }; /* bytes of the largest element type */
_Static_assert(GB_GU_MAX_ITEM <= 32 && GB_GU_MAX_ITEM >= 16,
               "starts, identities and scratch memory are sized by it");

/* Flags of a reduction. */
enum {
    GB_GU_R_ACROSS = 1,     /* neighbouring outputs are folded side by side */
    GB_GU_R_IN_PLACE = 2,   /* a loop of NumPy's: folds a row when its output is its first input */
    GB_GU_R_SEQUENTIAL = 4, /* from left to right */
    GB_GU_R_MASKED = 8,
    GB_GU_R_IDENTITY = 16, /* the run has one */
    GB_GU_R_STATE = 32,    /* with a state */
    GB_GU_R_STAGED = 64    /* the input goes through scratch memory */
};

/* Values folded into one accumulator before it goes into that of the next level: rounding errors
 * stay as small as those of pairwise sums. */
enum { GB_GU_R_LEVELS = 4, GB_GU_R_CASCADE = 128 };

/* The distance of transposed columns: not a power of two, so that they use different cache sets. */
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
    gb_gu_call *call; /* elements are the tasks */
    void *loop, *data;
    gb_gu_state_kernel state;
    int32_t form, flags, nkept, nfold, nout, levels;
    int64_t kept_n, fold_n;
    int64_t in_offset, where_offset; /* from element 0 to where the folding begins, bytes */
    int64_t item;          /* bytes of an accumulator: an element, or a state rounded up */
    int64_t width;         /* outputs folded side by side, at most */
    int64_t piece, lanes;  /* elements staged at once; partial results of a row */
    int64_t tile, block;   /* outputs and folded elements of a task */
    int64_t tiles, blocks; /* the number of tasks along each */
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
    gb_gu_run *job;             /* the job of the workers; NULL: this thread alone */
    pthread_t owner;
    int (*poll)(void *with); /* called on the owner's thread now and then; not 0: stop. Or NULL */
    void *with;
} gb_gu_reducing;

gb_gu_reduction *gb_gu_reduction_new(int nout);
void gb_gu_reduction_free(gb_gu_reduction *r);

/* The kernel of r->call, whose data is a gb_gu_reducing. */
intptr_t gb_gu_reduce_tasks(char **args, intptr_t const *dims, intptr_t const *steps, void *data,
                            uint8_t *status);

/* A run is gb_gu_reduce_begin (-1: no memory), the tasks, gb_gu_reduce_end. */
int gb_gu_reduce_begin(gb_gu_reducing *run);
void gb_gu_reduce_here(gb_gu_reducing *run); /* all tasks on this thread */
/* From any thread: tasks end early, and the results are undefined. */
void gb_gu_reduce_stop(gb_gu_reducing *run);
void gb_gu_reduce_end(gb_gu_reducing *run);             /* joins and frees the partial results */
int64_t gb_gu_reduce_failed(const gb_gu_reducing *run); /* outputs that failed */

/* ---- one worker ---- */

typedef struct gb_gu_folder {
    gb_gu_reducing *run;
    const gb_gu_reduction *r;
    char *acc[GB_GU_R_LEVELS], *spare, *stage, *raw, *lanes[2];
    int64_t count[GB_GU_R_LEVELS]; /* values in each accumulator; 0: it is empty */
    uint8_t *status, *bad;         /* bad: one per output, valid where any_bad is set */
    uint8_t any_bad;
    int64_t since; /* elements since the last look at the clock */
    double ns;     /* per element, of foreign kernels */
} gb_gu_folder;

int gb_gu_folder_init(gb_gu_folder *w, gb_gu_reducing *run, char *room);

/* n outputs over the folded elements [from, to). */
char *gb_gu_fold(gb_gu_folder *w, const char *in, const char *where, int64_t n, int64_t from,
                 int64_t to, int first);
void gb_gu_combine(gb_gu_folder *w, char **into, const char *x, intptr_t step, int64_t n);

/* The same with a state. */
char *gb_gu_fold_states(gb_gu_folder *w, const char *in, int64_t n, int64_t from, int64_t to);
