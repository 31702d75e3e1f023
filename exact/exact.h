/* exact.h: sums without rounding. A number is added to an integer wide enough for every product of
 * two doubles, kept as chunks of 32 bits in 64, so that adding is adding integers: in any order, on
 * any thread, on any rank, the same bits.
 *
 * Kernels (kernels_body.h) split blocks of doubles into sums that floating point makes without
 * error: that makes it quick. Numbers beyond their range are added one by one.
 */
#pragma once

#include "../transfer/axes.h"

/* Chunk i counts 2^(32 i - GB_EXACT_BIAS). The lowest bit of a product of two doubles is 2^-2148;
 * 2^63 of the largest products end at 2^2111. The last chunk has the sign. */
#define GB_EXACT_CHUNKS 136
#define GB_EXACT_BIAS 2176

/* Plain int64: accumulators of ranks are added by adding these. */
typedef struct gb_exact {
    int64_t chunk[GB_EXACT_CHUNKS];
    int64_t nans, infinities, negative_infinities;
} gb_exact;
enum { GB_EXACT_WORDS = sizeof(gb_exact) / sizeof(int64_t) };

/* Adds another sum, and brings the result into its one form: carried, every chunk but the last is
 * below 2^32 and not negative. */
void gb_exact_merge(gb_exact *sum, const gb_exact *other);

/* One side of a sum, or of a sum of products. */
typedef struct gb_exact_side {
    const char *data;
    int64_t item;
    int type; /* a real gb_type; not a long double */
} gb_exact_side;

typedef struct gb_exact_job {
    gb_exact *total;
    gb_exact_side a, b;     /* b.data NULL: there is one side */
    int negative, integers; /* integers: no side has floats; a product of both kinds is refused */
    int n, lock;
    int64_t elements, pieces;
    gb_copy_axis axis[GB_COPY_DIMS + 1]; /* dst: strides of a; src: of b */
} gb_exact_job;

/* GB_COPY_OK, GB_COPY_BAD_VIEW or GB_COPY_NO_CAST. b may be NULL, else it has a's shape. total is
 * carried, and is after every run. */
int gb_exact_plan(gb_exact_job *job, gb_exact *total, const gb_copy_view *a, const gb_copy_view *b,
                  int negative);
/* Any range of pieces, on any threads at the same time. */
void gb_exact_run(gb_exact_job *job, int64_t first, int64_t end);
gb_work gb_exact_work(gb_exact_job *job);

/* A sum with room for what its views point to: for callers who cannot keep pointers, such as Go. */
typedef struct gb_exact_task {
    gb_exact_job job;
    gb_work work;
    gb_exact total;
    gb_copy_view a, b;
    int64_t shape[GB_COPY_DIMS], a_strides[GB_COPY_DIMS], b_strides[GB_COPY_DIMS];
} gb_exact_task;
