/* moves.c: a pair's elements between host and GPU, by the driver's own moves of bytes and rows. */
#include "context.h"
#include "moves.h"

#define MAX_PITCH (((int64_t)1 << 31) - 1) /* of a copy in rows */

/* One call moves `width` bytes, or `rows` of them: the fastest axes, as far as they go. Returns how
 * many axes are left. */
typedef struct {
    int64_t width, rows, a_pitch, b_pitch;
} block;

static int fastest(const gb_cu_pair *p, int64_t itemsize, block *m) {
    int left = p->ndim;
    *m = (block){itemsize, 1, 0, 0};
    if (left && p->axis[left - 1].dst == itemsize && p->axis[left - 1].src == itemsize)
        m->width *= p->axis[--left].n;
    if (!left) return 0;
    const gb_copy_axis *row = &p->axis[left - 1];
    if (row->dst < m->width || row->src < m->width || row->dst > MAX_PITCH || row->src > MAX_PITCH)
        return left;
    *m = (block){m->width, row->n, row->dst, row->src};
    return left - 1;
}

int64_t gb_cu_pair_calls(const gb_cu_pair *p, int64_t itemsize) {
    block m;
    int64_t calls = p->size > 0;
    for (int left = fastest(p, itemsize, &m); left > 0; left--) calls *= p->axis[left - 1].n;
    return calls;
}

static int move(const block *m, int direction, uint64_t gpu, uint64_t host, gb_cuda_queue on,
                gb_cuda_error *e) {
    int up = direction == GB_CUDA_UPLOAD;
    if (m->rows == 1)
        return gb_cuda_copy(direction, up ? gpu : host, up ? host : gpu, m->width, on, e);
    CUDA_MEMCPY2D c = {.WidthInBytes = (size_t)m->width, .Height = (size_t)m->rows};
    if (up) {
        c.srcMemoryType = CU_MEMORYTYPE_HOST, c.srcHost = (const void *)(uintptr_t)host,
        c.srcPitch = (size_t)m->b_pitch;
        c.dstMemoryType = CU_MEMORYTYPE_DEVICE, c.dstDevice = gpu, c.dstPitch = (size_t)m->a_pitch;
    } else {
        c.srcMemoryType = CU_MEMORYTYPE_DEVICE, c.srcDevice = gpu, c.srcPitch = (size_t)m->a_pitch;
        c.dstMemoryType = CU_MEMORYTYPE_HOST, c.dstHost = (void *)(uintptr_t)host,
        c.dstPitch = (size_t)m->b_pitch;
    }
    return gb_cu_enter(on.device, e)
               ? gb_cu_left(GB_CU(e, cuMemcpy2DAsync_v2, &c, GB_CU_STREAM(on)))
               : -1;
}

int gb_cu_pair_move(const gb_cu_pair *p, int direction, uint64_t a, uint64_t b, int64_t itemsize,
                    gb_cuda_queue on, gb_cuda_error *e) {
    int64_t index[GB_COPY_DIMS] = {0};
    block m;
    if (p->size == 0) return 0;
    int left = fastest(p, itemsize, &m);
    a += (uint64_t)p->a_at;
    b += (uint64_t)p->b_at;
    do {
        if (move(&m, direction, a, b, on, e)) return -1;
    } while (gb_copy_axis_step(p->axis, left, index, &a, &b));
    return 0;
}
