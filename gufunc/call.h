/* call.h: a resolved call, compiled by Go, and what runs it.
 *
 * gb_call   everything about a call that does not depend on addresses: made once,
 *           kept, shared by any number of runs;
 * gb_sweep  one run of it over memory, shared by its workers, each of which takes
 *           pieces until none is left;
 * gb_block  a worker's place in a job: the next call of the kernel.
 *
 * Nothing here needs Go or Python.
 */
#ifndef GRIDBUF_GUFUNC_CALL_H
#define GRIDBUF_GUFUNC_CALL_H

#include "../alloc/plan.h"
#include "types.h"

#define GB_MAXARGS 16   /* MaxOperands */
#define GB_MAXCORE 8    /* MaxCore */

/* How a kernel is called: Form. */
enum { GB_NUMPY_LOOP = 1, GB_STATUS_LOOP, GB_GO_LOOP };

/* Flags of a call; those up to GB_RAISES are its kernel's, and Python has the same numbers. */
enum {
    GB_EXCLUSIVE = 1, GB_ONE_WORKER = 2, GB_PURE = 4,
    GB_MEASURED = 8,        /* an element may take any time: pieces are cut by measured time */
    GB_RAISES = 16,         /* the loop may set a Python error */
    GB_WHERE = 32, GB_GATHER = 64, GB_CASTS_OUT = 128,
    GB_FOLDS = 256,         /* of a kernel too: it folds a row when its output is its first input (reduce.h) */
};

typedef struct gb_operand {
    uint8_t from, to;                   /* types in memory and in the kernel */
    uint8_t swapped;                    /* memory is in the other byte order */
    uint8_t staged;                     /* goes through scratch memory in any case */
    int32_t core_ndim;
    int64_t item, kernel_item;          /* bytes */
    int64_t core_items;
    int64_t at;                         /* offset of its staging room in the scratch memory */
    int64_t core_shape[GB_MAXCORE], core_strides[GB_MAXCORE], packed[GB_MAXCORE];
    int64_t strides[GB_MAXDIMS];        /* along the loops, bytes */
} gb_operand;

typedef struct gb_call {
    int32_t nin, nop, ndim, ncore;      /* ndim: of the loops, at least 1 */
    int32_t form, flags, fp_mask;
    int32_t outer_ndim;
    void *function, *data;
    int64_t kernel;                     /* its number in its GUFunc */
    int64_t n, chunk, nchunks;          /* elements, elements a chunk */
    int64_t block;                      /* elements staged at once */
    int64_t scratch, status_at, select_at, picked_at;   /* bytes, and offsets in it */
    int64_t core[GB_MAXCORE];           /* sizes of the distinct core dimensions */
    int64_t shape[GB_MAXDIMS];          /* of the loops, outermost first */
    int64_t where_strides[GB_MAXDIMS];
    int64_t outer_shape[GB_MAXDIMS], code_strides[GB_MAXDIMS];   /* in the operands' order */
    gb_plan *out[GB_MAXARGS];           /* plans of outputs to allocate; NULL: given */
    int32_t out_ndim[GB_MAXARGS];       /* of every operand, core included */
    int64_t brief;                      /* runs in a row, up to the last one, that took no time worth speaking of; atomic */
    gb_operand op[];
} gb_call;

gb_call *gb_call_new(int nop);
void gb_call_free(gb_call *call);

/* A copied part of an input: elements [from, to) are read from base + stride * index.
 * Or only the boundaries of its blocks (boundary.c): block holds the first or last |boundary|
 * items of each, which other blocks overwrite. */
typedef struct gb_input_copy {
    char *base;
    void *block;
    int64_t from, to, boundary;
} gb_input_copy;

typedef struct gb_sweep {
    const gb_call *call;
    char *data[GB_MAXARGS + 1];         /* element 0 of every operand; after them where */
    void *loop_data;
    uint32_t staged;                    /* operands that are staged in this run */
    int32_t ignore_errors;
    int64_t n, chunk;                   /* of the call, which a late helper may outlive */
    int64_t next, done;                 /* elements; atomic */
    int64_t origin;                     /* elements from here on count as quick ones; atomic */
    int64_t pace, longest, ended;       /* ns: of 1024 elements, of late; of the longest piece; when the last one ended; atomic */
    int32_t measured, in_place;
    int32_t stop, holders, sleeping;    /* atomic */
    int32_t attached;                   /* threads that may still bring a Python error; atomic */
    int32_t no_memory;
    void *error;                        /* such an error; the extension's */
    uint8_t *codes;                     /* one per element in loop order; NULL while nothing failed; atomic */
    int64_t nfailed, nselected;         /* atomic */
    gb_input_copy copied[GB_MAXARGS + 1];
} gb_sweep;

/* Fill in a job; data has nop pointers, and one more for where. -1 with *why set
 * ("memory", or what overlaps) when it cannot run. gb_sweep_clear undoes it. */
int gb_sweep_init(gb_sweep *job, const gb_call *call, char *const *data, void *uniforms, int ignore_errors, const char **why);
void gb_sweep_clear(gb_sweep *job);

/* The same on the heap, for jobs that have helpers; it starts with one holder. */
gb_sweep *gb_sweep_new(const gb_call *call, char *const *data, void *uniforms, int ignore_errors, const char **why);
void gb_sweep_hold(gb_sweep *job);
void gb_sweep_drop(gb_sweep *job);

/* A holder keeps the job, not its call nor the operands: those are there as long as a
 * piece that was taken is not finished. */
typedef struct gb_piece { int64_t at, end; } gb_piece;
int gb_sweep_take(gb_sweep *job, gb_piece *p);              /* 0: none is left; gb_sweep_finished after it */
/* began: when the piece was begun (0: nobody asked); the time now. */
int64_t gb_sweep_finished(gb_sweep *job, const gb_piece *p, int64_t began);

/* Take pieces and run them, from now until the clock (ns of CLOCK_MONOTONIC) passes deadline or one
 * piece took longer than GB_LONG_SLICE; without a deadline (0) all that are left. 1: there
 * may be more, 0: none is left. */
int gb_sweep_work(gb_sweep *job, int64_t now, int64_t deadline);
#define GB_LONG_SLICE 5000000ll
void gb_sweep_help(gb_sweep *job);          /* the same on a thread that is lent, all that are left */

/* Wait until everything is done, or the clock passes deadline. 0: all done. */
int gb_sweep_wait(gb_sweep *job, int64_t deadline);
void gb_sweep_notice(gb_sweep *job);        /* wakes who waits, when all is done */
void gb_sweep_stop(gb_sweep *job);          /* take no further pieces */
int64_t gb_sweep_left(const gb_sweep *job); /* ns of work that nobody has taken, by what was measured */
int gb_sweep_alone(gb_sweep *job);          /* in a forked child, whose only thread this is; -1: it cannot be finished here */

/* Set by the extension: makes the calling thread one that Python knows, and ends that;
 * a Python error that is pending then goes into job->error. */
extern void *(*gb_attach)(void);
extern void (*gb_detach)(gb_sweep *job, void *thread);
int64_t gb_now(void);

/* ---- one worker ---- */

typedef struct gb_cursor {
    int64_t index[GB_MAXDIMS];
    char *ptr[GB_MAXARGS + 1];
} gb_cursor;

/* What a block's kernel call covers. */
enum { GB_ALL, GB_NONE, GB_PICKED, GB_BLENDED };

typedef struct gb_block {
    gb_sweep *job;
    char *scratch;
    int64_t at, end, limit;             /* linear index; limit: where a copy begins or ends */
    int64_t len;                        /* elements of this block */
    int64_t n;                          /* elements the kernel is called with */
    int32_t mode, cast_flags;
    int64_t nfailed;                    /* by status */
    gb_cursor here;
    uint8_t *status, *select;
    int32_t *picked;
    char *args[GB_MAXARGS];
    intptr_t dims[1 + GB_MAXCORE];
    intptr_t steps[GB_MAXARGS * (1 + GB_MAXCORE)];
} gb_block;

void gb_block_start(gb_block *b, gb_sweep *job, char *scratch);
void gb_block_piece(gb_block *b, const gb_piece *p);
int gb_block_next(gb_block *b);         /* 1: call the kernel, then gb_block_done; 0: the piece is done */
void gb_block_done(gb_block *b);
void gb_block_call(gb_block *b);        /* the kernel, when it is C */

/* stage.c: what the parts below stand on. */
void gb_cursor_advance(const gb_call *call, gb_cursor *c, int64_t len);
int64_t gb_packed_bytes(const gb_operand *o);
void gb_stage_in(gb_block *b, int op, const char *from, int64_t first, int64_t len);
void gb_stage_out(gb_block *b, int op, char *to, int64_t first, int64_t len);
void *gb_take_room(int64_t bytes);      /* NULL: no memory; gb_release gives it back */

/* ---- parts of it ---- */

void gb_select(gb_block *b);                                    /* where.c: read the mask, choose the mode */
void gb_compress(gb_block *b);                                  /* where.c: move picked inputs together */
void gb_scatter_picked(gb_block *b);                            /* where.c */
void gb_scatter_blended(gb_block *b);                           /* where.c */
void gb_check_fp_errors(gb_block *b);                                   /* fperrors.c: which elements raised flags */
void gb_check_outputs(gb_block *b);                           /* fperrors.c: which results did not fit their memory */
void gb_record(gb_block *b, int64_t k, uint8_t code);           /* fperrors.c: kernel element k failed */
int gb_raised(const gb_call *call);                             /* fperrors.c: flags that count */

/* 1: some byte belongs to both views, 0: none does; when finding out would take too long, 1. */
int gb_views_overlap(const char *a, const int64_t *a_shape, const int64_t *a_strides, int a_ndim, int64_t a_item,
               const char *b, const int64_t *b_shape, const int64_t *b_strides, int b_ndim, int64_t b_item);
/* 1: two elements of the view share a byte. */
int gb_self_overlap(const int64_t *shape, const int64_t *strides, int ndim, int64_t item);
/* scalar.c: the loop whose data is a function of 1 to 4 numbers; NULL for other counts. */
gb_numpy_loop gb_scalar_loop(int inputs, int single);

/* boundary.c: 1 when every input that the output overlaps is protected by its boundaries, 0
 * when they need copies, -1 with *why set. */
int gb_protect_boundaries(gb_sweep *job, const char **why);
void gb_stage_boundary(gb_block *b, int op, const char *from, int64_t len);

int gb_protect_inputs(gb_sweep *job, const char **why);

#endif
