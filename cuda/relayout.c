/* relayout.c: any strides to any strides within a device. An element is an axis of bytes at
 * first; axes that continue each other in both views merge, and what then is the fastest
 * axis is moved in the largest words that divide everything. */
#include "relayout.h"
#include "launch.h"
#include "pair.h"

static void swap(gb_kernel_job *j, int a, int b) {
#define SWAP(array) { long long t = j->array[a]; j->array[a] = j->array[b]; j->array[b] = t; }
    SWAP(shape) SWAP(dst_strides) SWAP(src_strides)
}

static void drop(gb_kernel_job *j, int a) {
    for (j->ndim--; a < j->ndim; a++) swap(j, a, a + 1);
}

/* The axes of a job: 1 nothing to move, 0, or -1. The first is the element's bytes. */
int gb_cu_prepare(gb_kernel_job *j, const gb_cuda_view *dst, const gb_cuda_view *src, const int64_t *shape, int ndim, int itemsize,
                   gb_cuda_error *e) {
    if (ndim < 0 || ndim > GB_CUDA_AXES || itemsize < 1)
        return gb_cu_fail(e, GB_CUDA_ARGUMENT, "%d axes of elements of %d bytes: at most %d axes", ndim, itemsize, GB_CUDA_AXES);
    for (int a = 0; a < ndim; a++) {
        if (shape[a] < 0) return gb_cu_fail(e, GB_CUDA_ARGUMENT, "shape[%d] is %lld", a, (long long)shape[a]);
        if (shape[a] > 1 && llabs(dst->strides[a]) < itemsize)
            return gb_cu_fail(e, GB_CUDA_ARGUMENT, "the destination's elements overlap: stride %lld along index %d", (long long)dst->strides[a], a);
    }
    gb_cu_pair p;
    if (!src) src = dst;   /* a fill reads nothing: let it not stand in the way of merging */
    gb_cu_pair_make(&p, ndim, shape, dst->strides, src->strides);
    if (p.size == 0) return 1;
    p.axis[p.ndim++] = (gb_copy_axis){itemsize, 1, 1};
    p.ndim = gb_copy_axis_merge(p.axis, p.ndim);
    *j = (gb_kernel_job){.dst = dst->data + (gb_word)p.a_at, .src = src->data + (gb_word)p.b_at, .count = p.size, .ndim = p.ndim};
    for (int a = 0; a < p.ndim; a++) {
        const gb_copy_axis *x = &p.axis[p.ndim - 1 - a];
        j->shape[a] = x->n, j->dst_strides[a] = x->dst, j->src_strides[a] = x->src;
    }
    return 0;
}

/* The largest word that divides addresses and strides, and the fastest axis in it. */
int gb_cu_into_words(gb_kernel_job *j) {
    uint64_t all = j->dst | j->src | (uint64_t)j->shape[0] | 16;
    for (int a = 1; a < j->ndim; a++) all |= (uint64_t)j->dst_strides[a] | (uint64_t)j->src_strides[a];
    int word = (int)(all & -all);
    j->shape[0] /= word;
    j->dst_strides[0] = j->src_strides[0] = word;
    if (j->shape[0] == 1) drop(j, 0);
    j->count = 1;
    for (int a = 0; a < j->ndim; a++) j->count *= j->shape[a];
    return word;
}

/* Whether tiles pay: the source runs fastest along another axis, which becomes axis 1. */
static int in_tiles(gb_kernel_job *j) {
    int fastest = 0;
    for (int a = 1; a < j->ndim; a++)
        if (j->src_strides[a] && (!j->src_strides[fastest] || llabs(j->src_strides[a]) < llabs(j->src_strides[fastest]))) fastest = a;
    if (fastest == 0 || j->shape[0] < 16 || j->shape[fastest] < 16 || !j->src_strides[0]) return 0;
    swap(j, 1, fastest);
    int64_t tiles = ((j->shape[0] + GB_TILE - 1) / GB_TILE) * ((j->shape[1] + GB_TILE - 1) / GB_TILE);
    for (int a = 2; a < j->ndim; a++)
        if (__builtin_mul_overflow(tiles, j->shape[a], &tiles)) return 0;
    if (tiles > INT32_MAX) return 0;
    j->count = tiles;
    return 1;
}

int gb_cuda_relayout(const gb_cuda_view *dst, const gb_cuda_view *src, const int64_t *shape, int ndim, int itemsize, gb_cuda_queue on,
                     gb_cuda_error *e) {
    gb_kernel_job job;
    int nothing = gb_cu_prepare(&job, dst, src, shape, ndim, itemsize, e);
    if (nothing) return nothing < 0 ? -1 : 0;
    if (job.ndim == 1) return gb_cuda_copy(GB_CUDA_WITHIN, job.dst, job.src, job.shape[0], on, e);
    gb_cu_device *d = gb_cu_enter(on.device, e);
    if (!d) return -1;
    int word = gb_cu_into_words(&job);
    int way = in_tiles(&job) ? GB_CU_TRANSPOSE : job.count < 1 << 30 ? GB_CU_COPY : GB_CU_FAR;
    int bad = gb_cu_launch(d, way, word, &job, on.stream, e);
    gb_cu_leave();
    return bad;
}
