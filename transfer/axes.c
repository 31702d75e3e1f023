/* axes.c: axes of two views, flipped, sorted and merged; and overlap of the two in memory. */
#include "axes.h"
#include "../alloc/strides.h"

void gb_copy_axis_flip(gb_copy_axes *axes, int i) {
    gb_copy_axis *x = &axes->axis[i];
    axes->dst += (x->n - 1) * x->dst;
    axes->src += (x->n - 1) * x->src;
    x->dst = -x->dst;
    x->src = -x->src;
}

/* Insertion is the quickest sort of so few axes. */
int gb_copy_axis_insert(gb_copy_axis *axis, int n, gb_copy_axis x) {
    int i = n;
    for (; i > 0; i--) {
        const gb_copy_axis *before = &axis[i - 1];
        if (before->dst > x.dst || (before->dst == x.dst && llabs(before->src) >= llabs(x.src)))
            break;
        axis[i] = *before;
    }
    axis[i] = x;
    return n + 1;
}

int gb_copy_axis_merge(gb_copy_axis *axis, int n) {
    int kept = 0;
    for (int i = 1; i < n; i++) {
        gb_copy_axis *outer = &axis[kept], inner = axis[i];
        if (outer->dst == inner.dst * inner.n && outer->src == inner.src * inner.n)
            *outer = (gb_copy_axis){outer->n * inner.n, inner.dst, inner.src};
        else axis[++kept] = inner;
    }
    return n ? kept + 1 : 0;
}

int gb_copy_axes_of(gb_copy_axes *axes, const gb_copy_view *dst, const gb_copy_view *src) {
    if (dst->ndim != src->ndim || dst->ndim < 0 || dst->ndim > GB_COPY_DIMS)
        return GB_COPY_BAD_VIEW;
    if (dst->itemsize < 0 || src->itemsize < 0) return GB_COPY_BAD_VIEW;
    axes->n = 0;
    axes->elements = dst->itemsize && src->itemsize;
    axes->item = src->itemsize;
    axes->dst = dst->data;
    axes->src = src->data;
    for (int i = 0; i < dst->ndim; i++) {
        if (dst->shape[i] != src->shape[i] || dst->shape[i] < 0) return GB_COPY_BAD_VIEW;
        if (__builtin_mul_overflow(axes->elements, dst->shape[i], &axes->elements))
            return GB_COPY_BAD_VIEW;
    }
    if (axes->elements == 0) return GB_COPY_OK;
    for (int i = 0; i < dst->ndim; i++) {
        gb_copy_axis x = {dst->shape[i], dst->strides[i], src->strides[i]};
        if (x.n == 1) continue;
        if (x.dst == 0) { /* all to one place: the last one stays */
            axes->src += (x.n - 1) * x.src;
            axes->elements /= x.n;
            continue;
        }
        axes->n = gb_copy_axis_insert(axes->axis, axes->n,
                                      x.dst > 0 ? x : (gb_copy_axis){x.n, -x.dst, -x.src});
        if (x.dst < 0) axes->dst += (x.n - 1) * x.dst, axes->src += (x.n - 1) * x.src;
    }
    /* Elements of an odd size are rows of bytes. */
    int64_t item = axes->item;
    if (src->type == GB_RAW && (item > 16 || (item & (item - 1)))) {
        axes->axis[axes->n++] = (gb_copy_axis){item, 1, 1};
        axes->elements *= item;
        axes->item = 1;
    }
    axes->n = gb_copy_axis_merge(axes->axis, axes->n);
    return GB_COPY_OK;
}

/* ---- overlap ---- */

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
