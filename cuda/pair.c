/* pair.c: the axes of two views of the same elements, brought into the order of one of them. */
#include "pair.h"

void gb_cu_pair_make(gb_cu_pair *p, int ndim, const int64_t *shape, const int64_t *a,
                     const int64_t *b) {
    p->size = 1;
    p->a_at = p->b_at = 0;
    p->ndim = 0;
    for (int i = 0; i < ndim; i++) {
        p->size *= shape[i];
        if (shape[i] == 1) continue;
        gb_copy_axis x = {shape[i], a[i], b[i]};
        if (x.dst < 0) { /* read both the other way round */
            p->a_at += (x.n - 1) * x.dst;
            p->b_at += (x.n - 1) * x.src;
            x = (gb_copy_axis){x.n, -x.dst, -x.src};
        }
        p->ndim = gb_copy_axis_insert(p->axis, p->ndim, x);
    }
    p->ndim = p->size ? gb_copy_axis_merge(p->axis, p->ndim) : 0;
}

void gb_cu_pair_lists(const gb_cu_pair *p, int64_t *shape, int64_t *a, int64_t *b) {
    for (int i = 0; i < p->ndim; i++)
        shape[i] = p->axis[i].n, a[i] = p->axis[i].dst, b[i] = p->axis[i].src;
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
    for (int i = 0; i < p->ndim; i++) *(keep_a ? &q.axis[i].src : &q.axis[i].dst) = dense[i];
    return q;
}

int gb_cu_pair_is_packed(const gb_cu_pair *p) {
    for (int i = 0; i < p->ndim; i++)
        if (p->axis[i].dst != p->axis[i].src) return 0;
    return 1;
}

int gb_cu_pair_overlaps(const gb_cu_pair *p, uint64_t a, uint64_t b, int64_t itemsize) {
    int64_t low = (int64_t)a + p->a_at, high = low + itemsize, low2 = (int64_t)b + p->b_at,
            high2 = low2 + itemsize;
    for (int i = 0; i < p->ndim; i++) {
        high += (p->axis[i].n - 1) * p->axis[i].dst;
        *(p->axis[i].src < 0 ? &low2 : &high2) += (p->axis[i].n - 1) * p->axis[i].src;
    }
    return low < high2 && low2 < high;
}
