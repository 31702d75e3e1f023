/* overlap.c: may source and target share memory, and if so, what helps. */
#include "axes.h"
#include "../alloc/strides.h"

/* Every element of one lies in a gap between the elements of the other, as in a[0::2] = a[1::2]. */
static int interleaved(const gb_copy_axes *axes, int64_t dst_item, int64_t src_item,
                       int64_t apart) {
    int64_t step = 0;
    for (int i = 0; i < axes->n; i++)
        step = gb_gcd(gb_gcd(step, axes->axis[i].dst), llabs(axes->axis[i].src));
    if (step == 0) return 0;
    int64_t r = apart % step;
    if (r < 0) r += step; /* the target's elements start r above a source's */
    return r >= src_item && r + dst_item <= step;
}

/* The same strides, rows without gaps, and memory order is the order of the axes: then going
 * through memory in the direction of the move reads everything before it is written. */
static int nested(const gb_copy_axes *axes) {
    int64_t below = axes->item;
    for (int i = axes->n - 1; i >= 0; i--) {
        const gb_copy_axis *x = &axes->axis[i];
        if (x->dst != x->src || x->dst < below) return 0;
        if (i == axes->n - 1 && x->dst != below) return 0;
        below = x->dst * x->n;
    }
    return 1;
}

int gb_copy_overlap(const gb_copy_axes *axes, const gb_copy_view *dst, const gb_copy_view *src) {
    int raw = src->type == GB_RAW;
    int64_t dst_item = raw ? axes->item : dst->itemsize, src_item = axes->item;
    int64_t dst_span = dst_item, src_below = 0, src_span = src_item;
    for (int i = 0; i < axes->n; i++) {
        const gb_copy_axis *x = &axes->axis[i];
        dst_span += (x->n - 1) * x->dst;
        if (x->src < 0) src_below -= (x->n - 1) * x->src;
        src_span += (x->n - 1) * llabs(x->src);
    }
    uintptr_t d = (uintptr_t)axes->dst, s = (uintptr_t)axes->src - (uintptr_t)src_below;
    if (d + (uintptr_t)dst_span <= s || s + (uintptr_t)src_span <= d) return GB_COPY_DISJOINT;
    int64_t apart = (int64_t)((uintptr_t)axes->dst - (uintptr_t)axes->src);
    if (interleaved(axes, dst_item, src_item, apart)) return GB_COPY_DISJOINT;
    if (dst->type != src->type) return GB_COPY_TANGLED;
    int same = 1;
    for (int i = 0; i < axes->n; i++) same &= axes->axis[i].dst == axes->axis[i].src;
    if (same && apart == 0) return GB_COPY_SAME;
    return nested(axes) ? GB_COPY_SHIFT : GB_COPY_TANGLED;
}
