/* block.h: numbers on their way into a sum, a block at a time. */
#pragma once

#include "exact.h"
#include "kernels.h"

/* Elements waiting to be summed as one block: of rows too short, or of types that are converted. */
typedef struct gb_exact_block {
    gb_exact sum;
    const gb_exact_job *job;
    const gb_exact_kernels *kernels;
    int64_t n;
    _Alignas(64) double x[GB_EXACT_BLOCK], y[GB_EXACT_BLOCK]; /* of integers: their 64 bits */
} gb_exact_block;

/* n elements of a block or less, from wherever they lie; of floats a multiple of GB_EXACT_STEP. y:
 * NULL, or the other factors. */
void gb_exact_sum_block(gb_exact_block *b, const double *x, const double *y, int64_t n);
void gb_exact_flush(gb_exact_block *b); /* sum what waits */
