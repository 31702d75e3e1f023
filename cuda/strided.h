/* strided.h: copies and fills of any strides where a GPU takes part: within one GPU, from one to
 * another, between host and GPU, converted on the host where the types differ. */
#pragma once

#include "../transfer/program.h"
#include "cuda.h"

/* A kind besides GB_CUDA_DEVICE and so on: pageable memory of the host. */
#define GB_CUDA_HOST (-1)

/* One side of a copy. Pinned memory counts as the host's. */
typedef struct gb_cuda_side {
    uint64_t data;          /* element 0 */
    const int64_t *strides; /* bytes, of any sign */
    int64_t itemsize;
    int32_t type; /* a gb_type */
    int32_t kind;
    gb_cuda_block *block; /* the pools' block that contains it, or NULL */
    gb_cuda_queue on;     /* of a GPU's side: the queue of that GPU's part of the work */
} gb_cuda_side;

/* Callbacks; -1 from any of them ends the copy with GB_CUDA_STOPPED. */
typedef struct gb_cuda_caller {
    /* Copies host memory into host memory, to the end. */
    int (*lay_out)(void *self, const gb_copy_view *dst, const gb_copy_view *src);
    int (*yield)(void *self);                 /* about every 20 ms of waiting */
    int (*progress)(void *self, double done); /* 0 to 1; or NULL */
    void *self;
} gb_cuda_caller;

#define GB_CUDA_TEMPORARIES 8

typedef struct gb_cuda_job {
    gb_cuda_side dst, src; /* at least one of them of a GPU */
    int32_t ndim;
    const int64_t *shape;
    const gb_cuda_caller *caller; /* NULL: one thread lays out */
    const int32_t *stop;          /* not 0 once another thread wants the copy to end; or NULL */
    /* Results: the temporaries of the queued work, and their queues. The caller releases them once
     * that work is done, also of a copy that failed. */
    int32_t n_blocks;
    int32_t host_free; /* the host's side may be written again already */
    gb_cuda_block *blocks[GB_CUDA_TEMPORARIES];
    gb_cuda_queue used_on[GB_CUDA_TEMPORARIES];
} gb_cuda_job;

/* Queues the copy behind gridbuf's work on both blocks. At the end dst's and src's queues are both
 * behind all of it. */
int gb_cuda_copy_strided(gb_cuda_job *job, gb_cuda_error *e);

/* Sets every element to *value, dst's itemsize bytes of host memory, read at once; dst's type is
 * not used. */
int gb_cuda_fill_strided(const gb_cuda_side *dst, int ndim, const int64_t *shape, const void *value,
                         gb_cuda_error *e);

/* Zeroes the first bytes of a block, and records the use. */
int gb_cuda_zero(gb_cuda_block *block, int64_t bytes, gb_cuda_queue on, gb_cuda_error *e);

/* ---- many copies in one launch (program.c) ---- */

/* The caller keeps `program` unchanged while the result lives. */
typedef struct gb_cuda_program gb_cuda_program;
int gb_cuda_program_new(gb_cuda_program **made, const gb_program *program, int device,
                        gb_cuda_error *e);
void gb_cuda_program_free(gb_cuda_program *program);

/* bases: the address of each slot's element 0; blocks: the block that contains it, or NULL. Queued
 * behind gridbuf's work on the blocks, and recorded there. */
int gb_cuda_program_run(gb_cuda_program *program, const uint64_t *bases,
                        gb_cuda_block *const *blocks, int64_t n, gb_cuda_queue on,
                        gb_cuda_error *e);
