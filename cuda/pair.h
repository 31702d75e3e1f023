/* pair.h: the same elements seen from two sides, as few axes as they can be. */
#pragma once

#include "../transfer/axes.h"

/* Two sides, a and b: a's strides are dst of each axis, not negative and descending, b's are src.
 */
typedef struct gb_cu_pair {
    gb_copy_axis axis[GB_COPY_DIMS + 1];
    int ndim;
    int64_t a_at, b_at; /* where the first element lies, in bytes from the one given */
    int64_t size;
} gb_cu_pair;
void gb_cu_pair_make(gb_cu_pair *p, int ndim, const int64_t *shape, const int64_t *a,
                     const int64_t *b);

/* Its lengths, and the strides of either side. */
void gb_cu_pair_lists(const gb_cu_pair *p, int64_t *shape, int64_t *a, int64_t *b);
/* Strides without gaps, in the order that p has. */
void gb_cu_pair_pack(const gb_cu_pair *p, int64_t itemsize, int64_t *strides);
/* p with one side without gaps; and whether, in such a pair, the other one has none either. */
gb_cu_pair gb_cu_pair_packed(const gb_cu_pair *p, int64_t itemsize, int keep_a);
int gb_cu_pair_is_packed(const gb_cu_pair *p);
int gb_cu_pair_overlaps(const gb_cu_pair *p, uint64_t a, uint64_t b, int64_t itemsize);
