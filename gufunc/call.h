/* call.h: a resolved call, compiled by Go, and what runs it.
 *
 * gb_gu_call   everything about a call that does not depend on addresses: made once,
 *           kept, shared by any number of runs;
 * gb_gu_run  one run of it over memory, shared by its workers, each of which takes
 *           pieces until none is left;
 * gb_gu_block  a worker's place in a job: the next call of the kernel.
 *
 * Nothing here needs Go or Python.
 */
#pragma once

#include "../alloc/clock.h"
#include "../alloc/errors.h"
#include "../alloc/plan.h"
#include "../internal/work/helpers.h"
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
    GB_GU_MEASURED = 8, /* an element may take any time: pieces are cut by measured time */
    GB_GU_RAISES = 16,  /* the loop may set a Python error */
    GB_GU_WHERE = 32,
    GB_GU_GATHER = 64,
    GB_GU_CASTS_OUT = 128,
    GB_GU_FOLDS =
        256, /* of a kernel too: it folds a row when its output is its first input (reduction.h) */
    GB_GU_NEW_OUTPUTS =
        512, /* whoever runs it allocates what out has plans of: it overlaps nothing */
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
    int64_t kernel;                                   /* its number in its GUFunc */
    int64_t n, chunk, nchunks;                        /* elements, elements a chunk */
    int64_t block;                                    /* elements staged at once */
    int64_t scratch, status_at, select_at, picked_at; /* bytes, and offsets in it */
    int64_t core[GB_GU_MAXCORE];                      /* sizes of the distinct core dimensions */
    int64_t shape[GB_MAXDIMS];                        /* of the loops, outermost first */
    int64_t where_strides[GB_MAXDIMS];
    int64_t outer_shape[GB_MAXDIMS], code_strides[GB_MAXDIMS]; /* in the operands' order */
    gb_plan *out[GB_GU_MAXARGS];     /* plans of outputs to allocate; NULL: given */
    int32_t out_ndim[GB_GU_MAXARGS]; /* of every operand, core included */
    int64_t
        brief; /* runs in a row, up to the last one, that took no time worth speaking of; atomic */
    gb_gu_operand op[];
} gb_gu_call;

gb_gu_call *gb_gu_call_new(int nop);
void gb_gu_call_free(gb_gu_call *call);

/* lay_out.c. How each operand, and after them the mask, moves along the outer dimensions: bytes, 0
 * where it does not. */
typedef struct gb_gu_tracks {
    int64_t strides[GB_GU_MAXARGS + 1][GB_MAXDIMS];
} gb_gu_tracks;
enum {
    GB_GU_SHORT_RUN = 48
}; /* inner loops shorter than this are gathered, so that the kernel gets long ones */
void gb_gu_call_nest(gb_gu_call *call, const gb_gu_tracks *t); /* the loops, from the outer shape */
void gb_gu_call_cut(gb_gu_call *call); /* gathering, chunks and scratch memory, from all the rest */

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

/* A copied part of an input: elements [from, to) are read from base + stride * index.
 * Or only the boundaries of its blocks (boundary.c): block holds the first or last |boundary|
 * items of each, which other blocks overwrite. */
typedef struct gb_gu_input_copy {
    char *base;
    void *block;
    int64_t from, to, boundary;
} gb_gu_input_copy;

typedef struct gb_gu_run {
    const gb_gu_call *call;
    void *loop_data;
    uint32_t staged,
        copies; /* operands that are staged in this run; those with an entry in copied */
    int32_t ignore_errors;
    int64_t n, chunk;             /* of the call, which a late helper may outlive */
    int64_t next, done;           /* elements; atomic */
    int64_t origin;               /* elements from here on count as quick ones; atomic */
    int64_t pace, longest, ended; /* ns: of 1024 elements, of late; of the longest piece; when the
                                     last one ended; atomic */
    int32_t measured, in_place;
    int32_t stop, holders, sleeping; /* atomic */
    int32_t attached;                /* threads that may still bring a Python error; atomic */
    int32_t no_memory;
    void *error;    /* such an error; the extension's */
    uint8_t *codes; /* one per element in loop order; NULL while nothing failed; atomic */
    int64_t nfailed, nselected;    /* atomic */
    gb_work_loan helpers;          /* that take pieces, too */
    char *data[GB_GU_MAXARGS + 1]; /* element 0 of every operand; after them where */
    gb_gu_input_copy copied[GB_GU_MAXARGS + 1];
} gb_gu_run;

/* Fill in a job; data has nop pointers, and one more for where. -1 when it
 * cannot run. gb_gu_run_clear undoes it. */
int gb_gu_run_init(gb_gu_run *job, const gb_gu_call *call, char *const *data, void *uniforms,
                   int ignore_errors, gb_error *e);
void gb_gu_run_clear(gb_gu_run *job);

/* The same on the heap, for jobs that have helpers; it starts with one holder. While there is one
 * alone its counters are plain. */
gb_gu_run *gb_gu_run_new(const gb_gu_call *call, char *const *data, void *uniforms,
                         int ignore_errors, gb_error *e);
void gb_gu_run_hold(gb_gu_run *job);
void gb_gu_run_drop(gb_gu_run *job);

/* A holder keeps the job, not its call nor the operands: those are there as long as a
 * piece that was taken is not finished. */
typedef struct gb_gu_piece {
    int64_t at, end;
} gb_gu_piece;
int gb_gu_run_take(gb_gu_run *job,
                   gb_gu_piece *p); /* 0: none is left; gb_gu_run_finished after it */
/* began: when the piece was begun (0: nobody asked); the time now. */
int64_t gb_gu_run_finished(gb_gu_run *job, const gb_gu_piece *p, int64_t began);

/* Take pieces and run them, from now until the clock (ns of CLOCK_MONOTONIC) passes deadline or one
 * piece took longer than GB_GU_LONG_SLICE; without a deadline (0) all that are left. 1: there
 * may be more, 0: none is left. */
int gb_gu_run_work(gb_gu_run *job, int64_t now, int64_t deadline);
#define GB_GU_LONG_SLICE 5000000ll

/* Let up to n helpers take pieces, of a job on the heap, while there are fewer than `most` helpers
 * in all; how many will. */
int gb_gu_run_lend(gb_gu_run *job, int n, int most);
/* The same for as many of so many workers as what is left is worth, by the latest measure; 0 where
 * it is worth none. */
int gb_gu_run_share(gb_gu_run *job, int workers);
#define GB_GU_GLANCE 50000ll /* ns of work before anything else is thought of, such as helpers */
/* The whole job from this thread. */
void gb_gu_run_all(gb_gu_run *job, int workers);

/* Wait until everything is done, or the clock passes deadline. 0: all done. */
int gb_gu_run_wait(gb_gu_run *job, int64_t deadline);
void gb_gu_run_notice(gb_gu_run *job); /* wakes who waits, when all is done */
void gb_gu_run_stop(gb_gu_run *job);   /* take no further pieces */
int64_t gb_gu_run_left(
    const gb_gu_run *job);           /* ns of work that nobody has taken, by what was measured */
int gb_gu_run_alone(gb_gu_run *job); /* in a forked child, whose only thread this is; -1: it cannot
                                        be finished here */

/* Set by the extension: makes the calling thread one that Python knows, and ends that;
 * a Python error that is pending then goes into job->error. */
extern void *(*gb_gu_attach)(void);
extern void (*gb_gu_detach)(gb_gu_run *job, void *thread);

/* ---- one worker ---- */

typedef struct gb_gu_cursor {
    int64_t index[GB_MAXDIMS];
    char *ptr[GB_GU_MAXARGS + 1];
} gb_gu_cursor;

/* What a block's kernel call covers. */
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
int gb_gu_block_next(
    gb_gu_block *b); /* 1: call the kernel, then gb_gu_block_done; 0: the piece is done */
void gb_gu_block_done(gb_gu_block *b);
void gb_gu_block_call(gb_gu_block *b); /* the kernel, when it is C */

/* stage.c: what the parts below stand on. */
void gb_gu_cursor_advance(const gb_gu_call *call, gb_gu_cursor *c, int64_t len);
static inline int64_t gb_gu_run_length(const gb_gu_call *call, const gb_gu_cursor *c,
                                       int64_t most) { /* to the end of the inner loop */
    int d = call->ndim - 1;
    int64_t run = call->shape[d] - c->index[d];
    return run < most ? run : most;
}
int64_t gb_gu_packed_bytes(const gb_gu_operand *o);
/* From element `first` of the block on: `rows` inner loops from their beginning, or with rows 1 any
 * part of one. */
void gb_gu_stage_in(gb_gu_block *b, int op, const char *from, int64_t first, int64_t rows,
                    int64_t len);
void gb_gu_stage_out(gb_gu_block *b, int op, char *to, int64_t first, int64_t rows, int64_t len);
__attribute__((cold)) gb_gu_input_copy *gb_gu_run_copy(
    gb_gu_run *job, int i); /* the entry of operand i, empty when it is new */
void *gb_gu_take_room(int64_t bytes,
                      gb_error *e); /* to copy inputs to; gb_heap_release gives it back */

/* ---- parts of it ---- */

void gb_gu_select(gb_gu_block *b);          /* where.c: read the mask, choose the mode */
void gb_gu_compress(gb_gu_block *b);        /* where.c: move picked inputs together */
void gb_gu_scatter_picked(gb_gu_block *b);  /* where.c */
void gb_gu_scatter_blended(gb_gu_block *b); /* where.c */
void gb_gu_check_fp_errors(gb_gu_block *b); /* fperrors.c: which elements raised flags */
void gb_gu_check_outputs(gb_gu_block *b);   /* fperrors.c: which results did not fit their memory */
void gb_gu_record(gb_gu_block *b, int64_t k,
                  uint8_t code); /* fperrors.c: kernel element k failed */
uint8_t *gb_gu_codes(
    uint8_t **at, int64_t n,
    int32_t *no_memory); /* fperrors.c: made when the first element fails; or NULL */
int gb_gu_raised(const gb_gu_call *call); /* fperrors.c: flags that count */

/* 1: some byte belongs to both views, 0: none does; when finding out would take too long, 1. */
int gb_gu_views_overlap(const char *a, const int64_t *a_shape, const int64_t *a_strides, int a_ndim,
                        int64_t a_item, const char *b, const int64_t *b_shape,
                        const int64_t *b_strides, int b_ndim, int64_t b_item);
/* 1: two elements of the view share a byte. */
int gb_gu_self_overlap(const int64_t *shape, const int64_t *strides, int ndim, int64_t item);
/* scalar.c: the loop whose data is a function of 1 to 4 numbers; NULL for other counts. */
gb_gu_numpy_loop gb_gu_scalar_loop(int inputs, int single);

/* boundary.c: 1 when every input that the output overlaps is protected by its boundaries, 0
 * when they need copies, -1. */
int gb_gu_protect_boundaries(gb_gu_run *job, gb_error *e);
void gb_gu_stage_boundary(gb_gu_block *b, int op, const char *from, int64_t len);

int gb_gu_protect_inputs(gb_gu_run *job, gb_error *e);
