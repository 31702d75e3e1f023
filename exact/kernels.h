/* kernels.h: sums of blocks, compiled once per instruction set (kernels_body.h). */
#pragma once

#include <stdint.h>

/* Elements of a block: the sum of so many numbers needs GB_EXACT_LOG bits more than each. The
 * kernels take multiples of GB_EXACT_STEP. */
enum { GB_EXACT_LOG = 11, GB_EXACT_BLOCK = 1 << GB_EXACT_LOG, GB_EXACT_STEP = 32 };

/* Result of a kernel for a block. */
enum {
    GB_EXACT_NOT =
        0, /* numbers too large or too small for it, infinities, NaN: nothing was summed */
    GB_EXACT_ALL = 1, /* the sum is that of the parts */
    GB_EXACT_REST =
        2, /* parts are what the levels took of each number; something was left of some */
};

typedef struct gb_exact_parts {
    double part[4];
    double level[2]; /* numbers added to each value and subtracted again */
} gb_exact_parts;

typedef struct gb_exact_kernels {
    int (*sum)(const double *x, int64_t n, gb_exact_parts *parts);        /* parts[0] and [1] */
    int (*sum_coarse)(const double *x, int64_t n, gb_exact_parts *parts); /* one level: [0] */
    int (*dot)(const double *x, const double *y, int64_t n,
               gb_exact_parts *parts); /* four parts; no levels; NULL: there is none */
    /* Remainder of each number after so many levels, at most 2; rest may be x. */
    void (*rest)(const double *x, int64_t n, const gb_exact_parts *parts, int levels, double *rest);
    void (*split)(const double *x, const double *y, int64_t n, double *product,
                  double *error); /* where dot was not NOT */
    void (*sum_integers)(const uint64_t *x, int64_t n, uint64_t *high,
                         uint64_t *low); /* sums of the upper and lower 32 bits */
} gb_exact_kernels;

extern const gb_exact_kernels gb_exact_kernels_plain, gb_exact_kernels_avx2,
    gb_exact_kernels_avx512;
