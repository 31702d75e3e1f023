/* axes.c: dropping, flipping, sorting and merging axes. */
#include "axes.h"

void gb_copy_axis_flip(gb_copy_axes *axes, int i) {
    gb_copy_axis *x = &axes->axis[i];
    axes->dst += (x->n - 1) * x->dst;
    axes->src += (x->n - 1) * x->src;
    x->dst = -x->dst;
    x->src = -x->src;
}

/* They are few: insertion is the quickest sort. */
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
