/* device_route.c: working out which moves of the driver carry one view's elements into another's. */
#include "device_route.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PITCH (((int64_t)1 << 31) - 1)   /* of a copy in rows */

static int by_a(const void *x, const void *y) {
    const gb_axis *p = x, *q = y;
    return p->a != q->a ? (p->a > q->a ? -1 : 1) : (p->b > q->b ? -1 : p->b < q->b);
}

void gb_pair_make(gb_pair *p, int ndim, const int64_t *shape, const int64_t *a, const int64_t *b) {
    gb_axis sorted[GB_MAXDIMS];
    int n = 0;
    p->size = 1;
    p->a_at = p->b_at = 0;
    for (int i = 0; i < ndim; i++) {
        p->size *= shape[i];
        if (shape[i] == 1) continue;
        gb_axis x = {shape[i], a[i], b[i]};
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
        gb_axis *last = &p->axis[p->ndim - 1], *next = &sorted[i];
        if (p->ndim > 0 && last->a == next->a * next->n && last->b == next->b * next->n)
            *last = (gb_axis){last->n * next->n, next->a, next->b};
        else
            p->axis[p->ndim++] = *next;
    }
}

void gb_pair_pack(const gb_pair *p, int64_t itemsize, int64_t *strides) {
    for (int i = p->ndim - 1; i >= 0; i--) {
        strides[i] = itemsize;
        itemsize *= p->axis[i].n;
    }
}

/* ---- byte moves ---- */

/* One call moves `width` bytes, or `rows` of them: the fastest axes, as far as they go. Returns how many axes are left. */
typedef struct { int64_t width, rows, a_pitch, b_pitch; } block;

static int fastest(const gb_pair *p, int64_t itemsize, block *m) {
    int left = p->ndim;
    *m = (block){itemsize, 1, 0, 0};
    if (left && p->axis[left - 1].a == itemsize && p->axis[left - 1].b == itemsize) m->width *= p->axis[--left].n;
    if (!left) return 0;
    const gb_axis *row = &p->axis[left - 1];
    if (row->a < m->width || row->b < m->width || row->a > MAX_PITCH || row->b > MAX_PITCH) return left;
    *m = (block){m->width, row->n, row->a, row->b};
    return left - 1;
}

int64_t gb_pair_calls(const gb_pair *p, int64_t itemsize) {
    block m;
    int64_t calls = p->size > 0;
    for (int left = fastest(p, itemsize, &m); left > 0; left--) calls *= p->axis[left - 1].n;
    return calls;
}

static int move(const block *m, int direction, uint64_t a, uint64_t b, gb_cuda_queue on, gb_cuda_error *e) {
    int down = direction == GB_CUDA_DOWNLOAD;   /* a is always the device's side, or the target */
    uint64_t dst = down ? b : a, src = down ? a : b;
    if (m->rows == 1) return gb_cuda_copy(direction, dst, src, m->width, on, e);
    return gb_cuda_copy_rows(direction, dst, down ? m->b_pitch : m->a_pitch, src, down ? m->a_pitch : m->b_pitch, m->width, m->rows,
                             on, e);
}

/* Count through the first `axes` axes; 0 when it starts anew. */
static int step(const gb_pair *p, int axes, int64_t *index, uint64_t *a, uint64_t *b) {
    for (int i = axes - 1; i >= 0; i--) {
        *a += (uint64_t)p->axis[i].a;
        *b += (uint64_t)p->axis[i].b;
        if (++index[i] < p->axis[i].n) return 1;
        *a -= (uint64_t)(p->axis[i].n * p->axis[i].a);
        *b -= (uint64_t)(p->axis[i].n * p->axis[i].b);
        index[i] = 0;
    }
    return 0;
}

int gb_pair_move(const gb_pair *p, int direction, uint64_t a, uint64_t b, int64_t itemsize, gb_cuda_queue on) {
    int64_t index[GB_MAXDIMS] = {0};
    gb_cuda_error e;
    block m;
    if (p->size == 0) return 0;
    int left = fastest(p, itemsize, &m);
    a += (uint64_t)p->a_at;
    b += (uint64_t)p->b_at;
    do {
        if (GB_CUDA_UNLOCKED(&e, move(&m, direction, a, b, on, &e)) < 0) return -1;
    } while (step(p, left, index, &a, &b));
    return 0;
}

/* ---- the kernel ---- */

int gb_pair_kernel(const gb_pair *p, uint64_t a, uint64_t b, int64_t itemsize, gb_cuda_queue on, gb_cuda_error *e) {
    if (p->size == 0) return 0;
    a += (uint64_t)p->a_at;
    b += (uint64_t)p->b_at;
    uint64_t all = a | b | (uint64_t)itemsize | 16;   /* items of a power of two that divides whatever there is */
    for (int i = 0; i < p->ndim; i++) all |= (uint64_t)p->axis[i].a | (uint64_t)p->axis[i].b;
    int64_t unit = (int64_t)(all & -all);
    gb_pair q = *p;
    if (unit < itemsize) q.axis[q.ndim++] = (gb_axis){itemsize / unit, unit, unit};
    int outer = q.ndim > GB_CUDA_AXES ? q.ndim - GB_CUDA_AXES : 0, n = q.ndim - outer;
    int64_t index[GB_MAXDIMS] = {0}, shape[GB_CUDA_AXES] = {0};
    gb_cuda_view dst = {0}, src = {0};
    if (n == 0) shape[n++] = 1;
    for (int i = 0; i < q.ndim - outer; i++) {
        shape[i] = q.axis[outer + i].n;
        dst.strides[i] = q.axis[outer + i].a;
        src.strides[i] = q.axis[outer + i].b;
    }
    do {
        dst.data = a;
        src.data = b;
        if (gb_cuda_relayout(&dst, &src, shape, n, (int)unit, on, e) < 0) return -1;
    } while (step(&q, outer, index, &a, &b));
    return 0;
}

int gb_pair_relayout(const gb_pair *p, uint64_t a, uint64_t b, int64_t itemsize, gb_cuda_queue on) {
    gb_cuda_error e;
    return GB_CUDA_UNLOCKED(&e, gb_pair_kernel(p, a, b, itemsize, on, &e)) < 0 ? -1 : 0;
}
