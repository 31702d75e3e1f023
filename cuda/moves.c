/* moves.c: carrying a pair's elements: by the driver's own moves of bytes and rows, or by the relayout kernel. */
#include "moves.h"

#define MAX_PITCH (((int64_t)1 << 31) - 1)   /* of a copy in rows */

/* ---- byte moves ---- */

/* One call moves `width` bytes, or `rows` of them: the fastest axes, as far as they go. Returns how many axes are left. */
typedef struct { int64_t width, rows, a_pitch, b_pitch; } block;

static int fastest(const gb_cu_pair *p, int64_t itemsize, block *m) {
    int left = p->ndim;
    *m = (block){itemsize, 1, 0, 0};
    if (left && p->axis[left - 1].dst == itemsize && p->axis[left - 1].src == itemsize) m->width *= p->axis[--left].n;
    if (!left) return 0;
    const gb_copy_axis *row = &p->axis[left - 1];
    if (row->dst < m->width || row->src < m->width || row->dst > MAX_PITCH || row->src > MAX_PITCH) return left;
    *m = (block){m->width, row->n, row->dst, row->src};
    return left - 1;
}

int64_t gb_cu_pair_calls(const gb_cu_pair *p, int64_t itemsize) {
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
static int step(const gb_cu_pair *p, int axes, int64_t *index, uint64_t *a, uint64_t *b) {
    for (int i = axes - 1; i >= 0; i--) {
        *a += (uint64_t)p->axis[i].dst;
        *b += (uint64_t)p->axis[i].src;
        if (++index[i] < p->axis[i].n) return 1;
        *a -= (uint64_t)(p->axis[i].n * p->axis[i].dst);
        *b -= (uint64_t)(p->axis[i].n * p->axis[i].src);
        index[i] = 0;
    }
    return 0;
}

int gb_cu_pair_move(const gb_cu_pair *p, int direction, uint64_t a, uint64_t b, int64_t itemsize, gb_cuda_queue on, gb_cuda_error *e) {
    int64_t index[GB_COPY_DIMS] = {0};
    block m;
    if (p->size == 0) return 0;
    int left = fastest(p, itemsize, &m);
    a += (uint64_t)p->a_at;
    b += (uint64_t)p->b_at;
    do {
        if (move(&m, direction, a, b, on, e)) return -1;
    } while (step(p, left, index, &a, &b));
    return 0;
}

/* ---- the kernel ---- */

int gb_cu_pair_relayout(const gb_cu_pair *p, uint64_t a, uint64_t b, int64_t itemsize, gb_cuda_queue on, gb_cuda_error *e) {
    if (p->size == 0) return 0;
    a += (uint64_t)p->a_at;
    b += (uint64_t)p->b_at;
    uint64_t all = a | b | (uint64_t)itemsize | 16;   /* items of a power of two that divides whatever there is */
    for (int i = 0; i < p->ndim; i++) all |= (uint64_t)p->axis[i].dst | (uint64_t)p->axis[i].src;
    int64_t unit = (int64_t)(all & -all);
    gb_cu_pair q = *p;
    if (unit < itemsize) q.axis[q.ndim++] = (gb_copy_axis){itemsize / unit, unit, unit};
    int outer = q.ndim > GB_CUDA_AXES ? q.ndim - GB_CUDA_AXES : 0, n = q.ndim - outer;
    int64_t index[GB_COPY_DIMS] = {0}, shape[GB_CUDA_AXES] = {0};
    gb_cuda_view dst = {0}, src = {0};
    if (n == 0) shape[n++] = 1;
    for (int i = 0; i < q.ndim - outer; i++) {
        shape[i] = q.axis[outer + i].n;
        dst.strides[i] = q.axis[outer + i].dst;
        src.strides[i] = q.axis[outer + i].src;
    }
    do {
        dst.data = a;
        src.data = b;
        if (gb_cuda_relayout(&dst, &src, shape, n, (int)unit, on, e) < 0) return -1;
    } while (step(&q, outer, index, &a, &b));
    return 0;
}
