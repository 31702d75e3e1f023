/* pair.c: dropping, turning, sorting and merging the axes of two views of the same elements. */
#include "pair.h"

#include <stdlib.h>

static int by_a(const void *x, const void *y) {
    const gb_cu_axis *p = x, *q = y;
    return p->a != q->a ? (p->a > q->a ? -1 : 1) : (p->b > q->b ? -1 : p->b < q->b);
}

void gb_cu_pair_make(gb_cu_pair *p, int ndim, const int64_t *shape, const int64_t *a, const int64_t *b) {
    gb_cu_axis sorted[GB_COPY_DIMS];
    int n = 0;
    p->size = 1;
    p->a_at = p->b_at = 0;
    for (int i = 0; i < ndim; i++) {
        p->size *= shape[i];
        if (shape[i] == 1) continue;
        gb_cu_axis x = {shape[i], a[i], b[i]};
        if (x.a < 0) {   /* read both the other way round */
            p->a_at += (x.n - 1) * x.a;
            p->b_at += (x.n - 1) * x.b;
            x.a = -x.a;
            x.b = -x.b;
        }
        sorted[n++] = x;
    }
    p->ndim = 0;
    if (p->size == 0) return;
    qsort(sorted, (size_t)n, sizeof *sorted, by_a);
    for (int i = 0; i < n; i++) {
        gb_cu_axis *last = &p->axis[p->ndim - 1], *next = &sorted[i];
        if (p->ndim > 0 && last->a == next->a * next->n && last->b == next->b * next->n)
            *last = (gb_cu_axis){last->n * next->n, next->a, next->b};
        else
            p->axis[p->ndim++] = *next;
    }
}

void gb_cu_pair_pack(const gb_cu_pair *p, int64_t itemsize, int64_t *strides) {
    for (int i = p->ndim - 1; i >= 0; i--) {
        strides[i] = itemsize;
        itemsize *= p->axis[i].n;
    }
}

gb_cu_pair gb_cu_pair_packed(const gb_cu_pair *p, int64_t itemsize, int keep_a) {
    gb_cu_pair q = *p;
    int64_t dense[GB_COPY_DIMS + 1];
    gb_cu_pair_pack(p, itemsize, dense);
    q.a_at = keep_a ? p->a_at : 0;
    q.b_at = keep_a ? 0 : p->b_at;
    for (int i = 0; i < p->ndim; i++) *(keep_a ? &q.axis[i].b : &q.axis[i].a) = dense[i];
    return q;
}

int gb_cu_pair_is_packed(const gb_cu_pair *p) {
    for (int i = 0; i < p->ndim; i++)
        if (p->axis[i].a != p->axis[i].b) return 0;
    return 1;
}

int gb_cu_pair_repeats(const gb_cu_pair *p) {
    for (int i = 0; i < p->ndim; i++)
        if (p->axis[i].b == 0) return 1;
    return 0;
}

int gb_cu_pair_overlaps(const gb_cu_pair *p, uint64_t a, uint64_t b, int64_t itemsize) {
    int64_t low = (int64_t)a + p->a_at, high = low + itemsize, low2 = (int64_t)b + p->b_at, high2 = low2 + itemsize;
    for (int i = 0; i < p->ndim; i++) {
        high += (p->axis[i].n - 1) * p->axis[i].a;
        *(p->axis[i].b < 0 ? &low2 : &high2) += (p->axis[i].n - 1) * p->axis[i].b;
    }
    return low < high2 && low2 < high;
}
