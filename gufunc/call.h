/* call.h: a resolved call, compiled by Go, and its execution.
 *
 * gb_gu_call   everything about a call that does not depend on addresses: made once, kept, shared
 *              by any number of runs;
 * gb_gu_run    one run of it over memory, shared by its workers, each of which takes pieces until
 *              none is left;
 * gb_gu_block  a worker's position in a run: the next call of the kernel. */
#pragma once

#include "../alloc/system.h"
#include "../alloc/errors.h"
#include "../alloc/plan.h"
#include "../internal/work/work.h"
#include "types.h"

#define GB_GU_MAXARGS 16 /* MaxOperands */
#define GB_GU_MAXCORE 8  /* MaxCore */

/* How a kernel is called: Form. */
enum { GB_GU_NUMPY_LOOP = 1, GB_GU_STATUS_LOOP, GB_GU_GO_LOOP };

/* Flags of a call; those up to GB_GU_RAISES are its kernel's, and Python has the same numbers. */
enum {
    GB_GU_EXCLUSIVE = 1,
    GB_GU_ONE_WORKER = 2,
    GB_GU_PURE = 4,
    GB_GU_MEASURED = 8, /* elements of unbounded time: pieces are cut by measured time */
    GB_GU_RAISES = 16,  /* the loop may set a Python error */
    GB_GU_WHERE = 32,
    GB_GU_GATHER = 64,
    GB_GU_CASTS_OUT = 128,
    /* Of a kernel too: it folds a row when its output is its first input (reduction.h). */
    GB_GU_FOLDS = 256,
    /* The caller allocates the outputs that `out` has plans of: the overlap check is skipped. */
    GB_GU_NEW_OUTPUTS = 512,
};

typedef struct gb_gu_operand {
    uint8_t from, to; /* types in memory and in the kernel */
    uint8_t swapped;  /* memory is in the other byte order */
    uint8_t staged;   /* goes through scratch memory in any case */
    int32_t core_ndim;
    int64_t item, kernel_item; /* bytes */
    int64_t core_items;
    int64_t at; /* offset of its staging room in the scratch memory */
    int64_t core_shape[GB_GU_MAXCORE], core_strides[GB_GU_MAXCORE], packed[GB_GU_MAXCORE];
    int64_t strides[GB_MAXDIMS]; /* along the loops, bytes */
} gb_gu_operand;

typedef struct gb_gu_call {
    int32_t nin, nop, ndim, ncore; /* ndim: of the loops, at least 1 */
    int32_t form, flags, fp_mask;
    int32_t outer_ndim;
    void *function, *data;
    int64_t kernel;                                   /* number in the GUFunc */
    int64_t n, chunk, nchunks;                        /* elements, elements a chunk */
    int64_t block;                                    /* elements staged at once */
    int64_t scratch, status_at, select_at, picked_at; /* bytes, and offsets in it */
    int64_t core[GB_GU_MAXCORE];                      /* sizes of the distinct core dimensions */
    int64_t shape[GB_MAXDIMS];                        /* of the loops, outermost first */
    int64_t where_strides[GB_MAXDIMS];
    int64_t outer_shape[GB_MAXDIMS], code_strides[GB_MAXDIMS]; /* in the operands' order */
    gb_plan *out[GB_GU_MAXARGS];     /* plans of outputs to allocate; NULL: given */
    int32_t out_ndim[GB_GU_MAXARGS]; /* of every operand, core included */
    int64_t brief; /* the latest runs in a row that were too short to share; atomic */
    gb_gu_operand op[];
} gb_gu_call;

gb_gu_call *gb_gu_call_new(int nop);
void gb_gu_call_free(gb_gu_call *call);

/* lay_out.c. Strides of each operand, and after them of the mask, along the outer dimensions:
 * bytes, 0 where the operand repeats. */
typedef struct gb_gu_tracks {
    int64_t strides[GB_GU_MAXARGS + 1][GB_MAXDIMS];
} gb_gu_tracks;
enum { GB_GU_SHORT_RUN = 48 }; /* shorter inner loops are gathered into longer kernel calls */
void gb_gu_call_nest(gb_gu_call *call, const gb_gu_tracks *t); /* the loops, from the outer shape */
void gb_gu_call_cut(gb_gu_call *call); /* gathering, chunks and scratch memory; the last step */

/* An operand without its memory; dims NULL: without names. */
typedef struct gb_gu_view {
    uint8_t type, swapped, misaligned, absent;
    int32_t ndim;
    const int64_t *shape, *strides;
    const int32_t *dims;
} gb_gu_view;

/* A call of the same kernel, which has no core dimensions, with operands of any sizes, and after
 * them a mask; NULL with the error. */
gb_gu_call *gb_gu_call_like(const gb_gu_call *known, const gb_gu_view *v, int where, int named,
                            gb_error *e);

/* A copied part of an input: elements [from, to) are read from base + stride * index. Or only the
 * boundaries of its blocks (overlap.c): `block` holds the first or last |boundary| items of each,
 * which other blocks overwrite. */
typedef struct gb_gu_input_copy {
    char *base;
    void *block;
    int64_t from, to, boundary;
} gb_gu_input_copy;

typedef struct gb_gu_run {
    const gb_gu_call *call;
    void *loop_data;
    uint32_t staged; /* bit i: operand i is staged in this run */
    uint32_t copies; /* bit i: operand i has an entry in copied */
    int32_t ignore_errors;
    int64_t n, chunk;       /* the call's: a late helper may outlive the call */
    int64_t next, done;     /* elements; atomic */
    int64_t origin;         /* elements from here on count as quick ones; atomic */
    int64_t pace;           /* ns of 1024 elements in the latest piece; atomic */
    int64_t longest, ended; /* ns of the longest piece; end of the latest one; atomic */
    int32_t measured, in_place;
    int32_t stop, holders, sleeping; /* atomic */
    int32_t attached;                /* threads that may still store a Python error; atomic */
    int32_t no_memory;
    void *error;    /* the extension's error */
    uint8_t *codes; /* one per element in loop order; NULL while nothing failed; atomic */
    int64_t nfailed, nselected; /* atomic */
    gb_work_loan helpers;
    char *data[GB_GU_MAXARGS + 1]; /* element 0 of every operand; after them where */
    gb_gu_input_copy copied[GB_GU_MAXARGS + 1];
} gb_gu_run;

/* Fills in a run; data has nop pointers, and one more for the mask. -1 when it cannot run.
 * gb_gu_run_clear releases its memory. */
int gb_gu_run_init(gb_gu_run *job, const gb_gu_call *call, char *const *data, void *uniforms,
                   int ignore_errors, gb_error *e);
void gb_gu_run_clear(gb_gu_run *job);

/* The same on the heap, for runs with helpers; it starts with one holder. With a single holder the
 * counters need no atomics. */
gb_gu_run *gb_gu_run_new(const gb_gu_call *call, char *const *data, void *uniforms,
                         int ignore_errors, gb_error *e);
void gb_gu_run_hold(gb_gu_run *job);
void gb_gu_run_drop(gb_gu_run *job);

/* A holder keeps the run, not its call or operands: those exist as long as a taken piece is not
 * finished. */
typedef struct gb_gu_piece {
    int64_t at, end;
} gb_gu_piece;

/* Takes pieces and runs them, from `now` until the clock (ns of CLOCK_MONOTONIC) passes deadline or
 * one piece took longer than GB_GU_LONG_SLICE; without a deadline (0) all that are left. 1: there
 * may be more, 0: none is left. */
int gb_gu_run_work(gb_gu_run *job, int64_t now, int64_t deadline);
#define GB_GU_LONG_SLICE 5000000ll

/* Lets up to n helpers take pieces of a run on the heap, at most `most` helpers in all; returns how
 * many will. */
int gb_gu_run_lend(gb_gu_run *job, int n, int most);
/* The same for as many of so many workers as the work left is worth, by the latest measure; 0:
 * none. */
int gb_gu_run_share(gb_gu_run *job, int workers);
#define GB_GU_GLANCE 50000ll /* ns of work before helpers are considered */
/* The whole run from this thread. 0 workers: as many as gb_work_thread_count says. */
void gb_gu_run_all(gb_gu_run *job, int workers);

/* Waits until all is done, or the clock passes deadline. 0: all done. */
int gb_gu_run_wait(gb_gu_run *job, int64_t deadline);
void gb_gu_run_stop(gb_gu_run *job);          /* take no further pieces */
int64_t gb_gu_run_left(const gb_gu_run *job); /* ns of work not taken yet, by the latest pace */
/* In a forked child, without other threads; -1: the run cannot be finished there. */
int gb_gu_run_alone(gb_gu_run *job);

/* Set by the extension: makes the calling thread known to Python, and ends that; a pending Python
 * error then goes into job->error. */
extern void *(*gb_gu_attach)(void);
extern void (*gb_gu_detach)(gb_gu_run *job, void *thread);

/* ---- one worker ---- */

typedef struct gb_gu_cursor {
    int64_t index[GB_MAXDIMS];
    char *ptr[GB_GU_MAXARGS + 1];
} gb_gu_cursor;

/* The elements that a block's kernel call covers. */
enum { GB_GU_ALL, GB_GU_NONE, GB_GU_PICKED, GB_GU_BLENDED };

typedef struct gb_gu_block {
    gb_gu_run *job;
    char *scratch;
    int64_t at, end, limit; /* linear index; limit: where a copy begins or ends */
    int64_t len;            /* elements of this block */
    int64_t n;              /* elements the kernel is called with */
    int32_t mode, cast_flags;
    int64_t nfailed; /* by status */
    gb_gu_cursor here;
    uint8_t *status, *select;
    int32_t *picked;
    char *args[GB_GU_MAXARGS];
    intptr_t dims[1 + GB_GU_MAXCORE];
    intptr_t steps[GB_GU_MAXARGS * (1 + GB_GU_MAXCORE)];
} gb_gu_block;

void gb_gu_block_start(gb_gu_block *b, gb_gu_run *job, char *scratch);
void gb_gu_block_piece(gb_gu_block *b, const gb_gu_piece *p);
/* 1: call the kernel, then gb_gu_block_done; 0: the piece is done. */
int gb_gu_block_next(gb_gu_block *b);
void gb_gu_block_done(gb_gu_block *b);
void gb_gu_block_call(gb_gu_block *b); /* the kernel, when it is C */

/* ---- cast.c: staging ---- */

void gb_gu_cursor_advance(const gb_gu_call *call, gb_gu_cursor *c, int64_t len);
static inline int64_t gb_gu_run_length(const gb_gu_call *call, const gb_gu_cursor *c,
                                       int64_t most) { /* to the end of the inner loop */
    int d = call->ndim - 1;
    int64_t run = call->shape[d] - c->index[d];
    return run < most ? run : most;
}
int64_t gb_gu_packed_bytes(const gb_gu_operand *o);
/* Stages from element `first` of the block on: `rows` whole inner loops, or with rows 1 any part of
 * one. */
void gb_gu_stage_in(gb_gu_block *b, int op, const char *from, int64_t first, int64_t rows,
                    int64_t len);
void gb_gu_stage_out(gb_gu_block *b, int op, char *to, int64_t first, int64_t rows, int64_t len);
/* The entry of operand i, empty when it is new. */
__attribute__((cold)) gb_gu_input_copy *gb_gu_run_copy(gb_gu_run *job, int i);
/* Memory for copies of inputs; gb_heap_release gives it back. */
void *gb_gu_take_room(int64_t bytes, gb_error *e);

/* ---- block.c ---- */

/* The codes of n elements, made when the first one fails; NULL without memory. */
uint8_t *gb_gu_codes(uint8_t **at, int64_t n, int32_t *no_memory);
int gb_gu_raised(const gb_gu_call *call); /* the flags of the thread that count for the call */

/* ---- overlap.c ---- */

/* 1: some byte belongs to both views, or the search would take too long; 0: none does. */
int gb_gu_views_overlap(const char *a, const int64_t *a_shape, const int64_t *a_strides, int a_ndim,
                        int64_t a_item, const char *b, const int64_t *b_shape,
                        const int64_t *b_strides, int b_ndim, int64_t b_item);
/* 1: two elements of the view share a byte. */
int gb_gu_self_overlap(const int64_t *shape, const int64_t *strides, int ndim, int64_t item);
/* Copies inputs that outputs would overwrite; -1 with the error. */
int gb_gu_protect_inputs(gb_gu_run *job, gb_error *e);
void gb_gu_stage_boundary(gb_gu_block *b, int op, const char *from, int64_t len);

/* job.c: the loop whose data is a function of 1 to 4 numbers; NULL for other counts. */
gb_gu_numpy_loop gb_gu_scalar_loop(int inputs, int single);
