/* relayout.c: any strides to any strides within a device, by a kernel. An element is an axis of
 * bytes at first; axes that continue each other on both sides merge, and what then is the fastest
 * axis is moved in the largest words that divide everything. */
#include "launch.h"
#include "moves.h"

int gb_cu_pair_bytes(gb_cu_pair *p, int64_t itemsize, gb_cuda_error *e) {
    for (int i = 0; i < p->ndim; i++)
        if (p->axis[i].dst == 0)
            return gb_cu_fail(e, GB_CUDA_ARGUMENT,
                              "the destination's elements overlap: stride 0 along index %d", i);
    p->axis[p->ndim++] = (gb_copy_axis){itemsize, 1, 1};
    p->ndim = gb_copy_axis_merge(p->axis, p->ndim);
    return 0;
}

int gb_cu_job_of(gb_kernel_job *j, const gb_cu_pair *p, int outer, uint64_t a, uint64_t b) {
    int last = p->ndim - 1;
    uint64_t all = a | b | (uint64_t)p->axis[last].n | 16;
    for (int i = outer; i < last; i++) all |= (uint64_t)p->axis[i].dst | (uint64_t)p->axis[i].src;
    int word = (int)(all & -all);
    *j = (gb_kernel_job){.dst = a, .src = b, .count = 1};
    for (int i = last; i >= outer; i--) {
        gb_copy_axis x = p->axis[i];
        if (i == last) x = (gb_copy_axis){x.n / word, word, word};
        if (x.n == 1) continue;
        j->shape[j->ndim] = x.n, j->dst_strides[j->ndim] = x.dst, j->src_strides[j->ndim++] = x.src;
        j->count *= x.n;
    }
    return word;
}

static void swap(gb_kernel_job *j, int a, int b) {
#define SWAP(array)                \
    {                              \
        long long t = j->array[a]; \
        j->array[a] = j->array[b]; \
        j->array[b] = t;           \
    }
    SWAP(shape) SWAP(dst_strides) SWAP(src_strides)
}

/* Whether tiles pay: the source runs fastest along another axis, which becomes axis 1. */
static int in_tiles(gb_kernel_job *j) {
    int fastest = 0;
    for (int a = 1; a < j->ndim; a++)
        if (j->src_strides[a] &&
            (!j->src_strides[fastest] || llabs(j->src_strides[a]) < llabs(j->src_strides[fastest])))
            fastest = a;
    if (fastest == 0 || j->shape[0] < 16 || j->shape[fastest] < 16 || !j->src_strides[0]) return 0;
    swap(j, 1, fastest);
    int64_t tiles =
        ((j->shape[0] + GB_TILE - 1) / GB_TILE) * ((j->shape[1] + GB_TILE - 1) / GB_TILE);
    for (int a = 2; a < j->ndim; a++)
        if (__builtin_mul_overflow(tiles, j->shape[a], &tiles)) return 0;
    if (tiles > INT32_MAX) return 0;
    j->count = tiles;
    return 1;
}

/* The axes from `outer` on. */
static int carry(const gb_cu_pair *p, int outer, uint64_t a, uint64_t b, gb_cuda_queue on,
                 gb_cuda_error *e) {
    gb_kernel_job job;
    if (p->ndim - outer == 1) return gb_cuda_copy(GB_CUDA_WITHIN, a, b, p->axis[outer].n, on, e);
    gb_cu_device *d = gb_cu_enter(on.device, e);
    if (!d) return -1;
    int word = gb_cu_job_of(&job, p, outer, a, b);
    int way = in_tiles(&job) ? GB_CU_TRANSPOSE : job.count < 1 << 30 ? GB_CU_COPY : GB_CU_FAR;
    int bad = gb_cu_launch(d, way, word, &job, on.stream, e);
    return gb_cu_left(bad);
}

int gb_cu_pair_relayout(const gb_cu_pair *p, uint64_t a, uint64_t b, int64_t itemsize,
                        gb_cuda_queue on, gb_cuda_error *e) {
    gb_cu_pair q = *p;
    int64_t index[GB_COPY_DIMS + 1] = {0};
    if (p->size == 0) return 0;
    if (gb_cu_pair_bytes(&q, itemsize, e)) return -1;
    int outer = q.ndim > GB_KERNEL_AXES ? q.ndim - GB_KERNEL_AXES : 0;
    a += (uint64_t)p->a_at;
    b += (uint64_t)p->b_at;
    do {
        if (carry(&q, outer, a, b, on, e)) return -1;
    } while (gb_copy_axis_step(q.axis, outer, index, &a, &b));
    return 0;
}
