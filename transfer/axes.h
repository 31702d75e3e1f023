/* axes.h: the axes of a copy, brought into the order of the target's memory. */
#ifndef GRIDBUF_AXES_H
#define GRIDBUF_AXES_H

#include "transfer.h"

typedef struct gb_axis {
    int64_t n, dst, src;   /* length; distance of neighbours in bytes */
} gb_axis;

typedef struct gb_axes {
    int n;
    int64_t elements;   /* 0: nothing to copy */
    int64_t item;       /* bytes of a moved element; of the source's where types differ */
    char *dst;          /* of the first element in the new order */
    const char *src;
    gb_axis axis[GB_COPY_DIMS + 1];   /* target strides positive and descending; no two neighbours could be one */
} gb_axes;

/* GB_COPY_OK, or GB_COPY_BAD_VIEW. */
int gb_axes_of(gb_axes *axes, const gb_view *dst, const gb_view *src);
/* Turn one axis round. */
void gb_axis_flip(gb_axes *axes, int i);
void gb_axis_drop(gb_axes *axes, int i);

/* What overlap asks for: nothing; nothing at all, the views are one; an ordered move; a temporary. */
enum { GB_DISJOINT, GB_SAME, GB_SHIFT, GB_TANGLED };
int gb_overlap(const gb_axes *axes, const gb_view *dst, const gb_view *src);

#endif
