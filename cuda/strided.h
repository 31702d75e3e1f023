/* strided.h: strided memory into strided memory where a GPU takes part, whatever the strides:
 * within one GPU, from one to another, between host and GPU, converted on the host where the types
 * differ. Nothing here knows Python. */
#pragma once

#include "../transfer/program.h"
#include "cuda.h"

#define GB_CUDA_HOST                                                             \
    (-1) /* a kind besides GB_CUDA_DEVICE and so on: pageable memory of the host \
          */

/* One side of a copy. Pinned memory is the host's. */
typedef struct gb_cuda_side {
    uint64_t data;          /* element 0 */
    const int64_t *strides; /* bytes, of any sign */
    int64_t itemsize;
    int32_t type; /* a gb_type */
    int32_t kind;
    gb_cuda_block *block; /* the block it lies in, or NULL when it is not of our pools */
    gb_cuda_queue on;     /* memory of a GPU: where that one's part of the work goes */
} gb_cuda_side;

/* What only the caller can do; -1 from any of them ends the copy with GB_CUDA_STOPPED. */
typedef struct gb_cuda_caller {
    int (*lay_out)(void *self, const gb_copy_view *dst,
                   const gb_copy_view *src);  /* host memory into host memory, to the end */
    int (*yield)(void *self);                 /* about every 20 ms of waiting */
    int (*progress)(void *self, double done); /* 0 to 1; or NULL */
    void *self;
} gb_cuda_caller;

#define GB_CUDA_TEMPORARIES 8

typedef struct gb_cuda_job {
    gb_cuda_side dst, src; /* at least one of them of a GPU */
    int32_t ndim;
    const int64_t *shape;
    const gb_cuda_caller *caller; /* NULL: nobody is asked, and one thread lays out */
    /* The answer: what the queued work still uses, and where. The caller releases them once that is
     * done, also of a copy that failed. */
    int32_t n_blocks;
    int32_t host_free; /* the host's side may be written again already */
    gb_cuda_block *blocks[GB_CUDA_TEMPORARIES];
    gb_cuda_queue used_on[GB_CUDA_TEMPORARIES];
} gb_cuda_job;

/* Queues the copy behind our own work on both blocks. dst's queue is behind all of it in the end,
 * and src's too. */
int gb_cuda_copy_strided(gb_cuda_job *job, gb_cuda_error *e);

/* Every element becomes *value, of dst's size, in host memory, which is read at once; dst's type
 * does not matter. */
int gb_cuda_fill_strided(const gb_cuda_side *dst, int ndim, const int64_t *shape, const void *value,
                         gb_cuda_error *e);

/* The first bytes of a block become 0, and the use is recorded. */
int gb_cuda_zero(gb_cuda_block *block, int64_t bytes, gb_cuda_queue on, gb_cuda_error *e);

/* ---- many copies in one launch (program.c) ---- */

/* The program stays as it is while this one lives. */
typedef struct gb_cuda_program gb_cuda_program;
int gb_cuda_program_new(gb_cuda_program **made, const gb_program *program, int device,
                        gb_cuda_error *e);
void gb_cuda_program_free(gb_cuda_program *program);

/* bases: the address of each slot's element 0; blocks: what it lies in, or NULL. Queued behind our
 * own work on the blocks, and recorded there. */
int gb_cuda_program_run(gb_cuda_program *program, const uint64_t *bases,
                        gb_cuda_block *const *blocks, int64_t n, gb_cuda_queue on,
                        gb_cuda_error *e);
