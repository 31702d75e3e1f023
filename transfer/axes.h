/* axes.h: axes that two views have in common, brought into the order of the target's memory.
 * Insert each axis, then merge: as few are left as the elements allow. Copies of host memory do so
 * by gb_copy_axes_of. */
#pragma once

#include "transfer.h"

typedef struct gb_copy_axis {
    int64_t n, dst, src; /* length; distance of neighbours in bytes */
} gb_copy_axis;

/* Insert an axis among n that are sorted by the target's stride, slowest first, ties by the
 * source's; and let one axis be what several neighbours in memory are on both sides. How many there
 * are then; axis has room for them. Target strides are not negative. */
int gb_copy_axis_insert(gb_copy_axis *axis, int n, gb_copy_axis x);
int gb_copy_axis_merge(gb_copy_axis *axis, int n);

/* Count through n axes, and move both addresses along; 0 when it starts anew. */
static inline int gb_copy_axis_step(const gb_copy_axis *axis, int n, int64_t *index, uint64_t *dst,
                                    uint64_t *src) {
    for (int i = n - 1; i >= 0; i--) {
        *dst += (uint64_t)axis[i].dst;
        *src += (uint64_t)axis[i].src;
        if (++index[i] < axis[i].n) return 1;
        *dst -= (uint64_t)(axis[i].n * axis[i].dst);
        *src -= (uint64_t)(axis[i].n * axis[i].src);
        index[i] = 0;
    }
    return 0;
}

typedef struct gb_copy_axes {
    int n;
    int64_t elements; /* 0: nothing to copy */
    int64_t item;     /* bytes of a moved element; of the source's where types differ */
    char *dst;        /* of the first element in the new order */
    const char *src;
    gb_copy_axis axis[GB_COPY_DIMS + 1]; /* target strides positive and descending; no two
                                            neighbours could be one */
} gb_copy_axes;

/* GB_COPY_OK, or GB_COPY_BAD_VIEW. */
int gb_copy_axes_of(gb_copy_axes *axes, const gb_copy_view *dst, const gb_copy_view *src);
/* Turn one axis round. */
void gb_copy_axis_flip(gb_copy_axes *axes, int i);

/* Overlap of two views: none, so any order will do; both are the same elements, so there is nothing
 * to copy; an ordered move is needed; a temporary is needed. */
enum { GB_COPY_DISJOINT, GB_COPY_SAME, GB_COPY_SHIFT, GB_COPY_TANGLED };
int gb_copy_overlap(const gb_copy_axes *axes, const gb_copy_view *dst, const gb_copy_view *src);
