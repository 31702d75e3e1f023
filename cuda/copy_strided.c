/* copy_strided.c: which way strided elements go: between host and GPU, within one GPU, or from one
 * to another. */
#include "blocks.h"
#include "moves.h"
#include "staging.h"

/* The job as a pair, a its destination. */
static gb_cu_pair pair_of(const gb_cuda_job *job) {
    gb_cu_pair p;
    gb_cu_pair_make(&p, job->ndim, job->shape, job->dst.strides, job->src.strides);
    return p;
}

/* ---- within and between GPUs ---- */

static int within(gb_cuda_job *job, gb_cuda_error *e) {
    gb_cu_pair p = pair_of(job);
    int64_t item = job->dst.itemsize;
    uint64_t dst = job->dst.data, src = job->src.data, middle;
    gb_cuda_queue on = job->dst.on;
    if (p.size == 0) return 0;
    if (!gb_cu_pair_overlaps(&p, dst, src, item))
        return gb_cu_pair_relayout(&p, dst, src, item, on, e);
    gb_cu_pair into = gb_cu_pair_packed(&p, item, 0), out = gb_cu_pair_packed(&p, item, 1);
    if (gb_cu_temporary(job, GB_CUDA_DEVICE, p.size * item, on, &middle, e) ||
        gb_cu_pair_relayout(&into, middle, src, item, on, e))
        return -1;
    return gb_cu_pair_relayout(&out, dst, middle, item, on, e);
}

/* Packed on the first GPU, moved and laid out on the second. The second waits for the packing, and
 * in the end the first for the second: whatever comes on either queue later, also another use of
 * the temporaries, comes after the copy. */
static int across(gb_cuda_job *job, gb_cuda_error *e) {
    gb_cu_pair p = pair_of(job);
    int64_t item = job->dst.itemsize, bytes = p.size * item;
    uint64_t dst = job->dst.data, src = job->src.data, packed = src + (uint64_t)p.b_at,
             arrived = dst + (uint64_t)p.a_at;
    gb_cuda_queue on = job->dst.on, from = job->src.on;
    if (p.size == 0) return 0;
    gb_cu_pair into = gb_cu_pair_packed(&p, item, 0), out = gb_cu_pair_packed(&p, item, 1);
    int as_is = job->src.kind == GB_CUDA_DEVICE && gb_cu_pair_is_packed(&into),
        in_place = job->dst.kind == GB_CUDA_DEVICE && gb_cu_pair_is_packed(&out);
    if (!as_is && (gb_cu_temporary(job, GB_CUDA_DEVICE, bytes, from, &packed, e) ||
                   gb_cu_pair_relayout(&into, packed, src, item, from, e)))
        return -1;
    if ((!in_place && gb_cu_temporary(job, GB_CUDA_DEVICE, bytes, on, &arrived, e)) ||
        gb_cuda_stream_wait_stream(on, from, e))
        return -1;
    if (gb_cuda_copy_peer(arrived, packed, from.device, bytes, on, e)) return -1;
    if (!in_place && gb_cu_pair_relayout(&out, dst, arrived, item, on, e)) return -1;
    return gb_cuda_stream_wait_stream(from, on, e);
}

/* ---- between host and GPU ---- */

static int is_on_gpu(const gb_cuda_side *side) {
    return side->kind == GB_CUDA_DEVICE || side->kind == GB_CUDA_MANAGED;
}

/* Where many moves would be needed, the bytes travel in the host's own order, and the kernel does
 * the rest. */
static int by_kernel(gb_cuda_job *job, gb_cu_staged s, const int64_t *near_strides,
                     const int64_t *far_strides, gb_cuda_error *e) {
    gb_cu_pair h, bus, kernel;
    int64_t shape[GB_COPY_DIMS + 1], near[GB_COPY_DIMS + 1], far[GB_COPY_DIMS + 1],
        dense[GB_COPY_DIMS + 1], item = s.device_item;
    uint64_t gpu = s.device, middle;
    gb_cu_pair_make(&h, job->ndim, job->shape, near_strides, far_strides);
    gb_cu_pair_pack(&h, item, dense);
    gb_cu_pair_lists(&h, shape, near, far);
    if (gb_cu_temporary(job, GB_CUDA_DEVICE, h.size * item, s.on, &middle, e)) return -1;
    gb_cu_pair_make(&bus, h.ndim, shape, dense, near);
    bus.b_at += h.a_at;
    s.pair = &bus;
    s.device = middle;
    if (s.direction == GB_CUDA_DOWNLOAD) {
        gb_cu_pair_make(&kernel, h.ndim, shape, dense, far);
        kernel.b_at += h.b_at;
        return gb_cu_pair_relayout(&kernel, middle, gpu, item, s.on, e)
                   ? -1
                   : gb_cu_staged_copy(job, &s, e);
    }
    gb_cu_pair_make(&kernel, h.ndim, shape, far, dense);
    kernel.a_at += h.b_at;
    return gb_cu_staged_copy(job, &s, e) ? -1
                                         : gb_cu_pair_relayout(&kernel, gpu, middle, item, s.on, e);
}

static int wait_on_host(const gb_cuda_side *host, gb_cuda_error *e) {
    return host->block ? gb_cuda_synchronize_block(host->block, e) : 0;
}

static int between(gb_cuda_job *job, gb_cuda_error *e) {
    int up = is_on_gpu(&job->dst);
    const gb_cuda_side *gpu = up ? &job->dst : &job->src, *host = up ? &job->src : &job->dst;
    gb_cu_pair p;
    gb_cu_pair_make(&p, job->ndim, job->shape, gpu->strides, host->strides);
    gb_cu_staged s = {.direction = up ? GB_CUDA_UPLOAD : GB_CUDA_DOWNLOAD,
                      .pinned = host->kind == GB_CUDA_PINNED,
                      .pair = &p,
                      .device = gpu->data,
                      .host = (char *)(uintptr_t)host->data,
                      .device_item = gpu->itemsize,
                      .host_item = host->itemsize,
                      .device_type = gpu->type,
                      .host_type = host->type,
                      .on = gpu->on};
    int converts = gpu->type != host->type || gpu->itemsize != host->itemsize;
    if ((converts || !s.pinned) && wait_on_host(host, e)) return -1;
    if (p.size == 0 || converts || gb_cu_pair_calls(&p, gpu->itemsize) <= GB_CU_DIRECT_CALLS)
        return gb_cu_staged_copy(job, &s, e);
    if (gb_cuda_kernels(gpu->on.device, e) && e->status == GB_CUDA_NO_KERNELS)
        return gb_cu_staged_copy(job, &s, e);
    if (by_kernel(job, s, host->strides, gpu->strides, e) == 0) return 0;
    if (e->status != GB_CUDA_NO_MEMORY && e->status != GB_CUDA_OVER_LIMIT) return -1;
    return wait_on_host(host, e)
               ? -1
               : gb_cu_staged_copy(job, &s,
                                   e); /* no room on the GPU for a temporary: the host lays out */
}

int gb_cuda_copy_strided(gb_cuda_job *job, gb_cuda_error *e) {
    gb_cuda_error own;
    gb_cuda_queue on = (is_on_gpu(&job->dst) ? &job->dst : &job->src)->on,
                  from = (is_on_gpu(&job->src) ? &job->src : &job->dst)->on;
    if (!e) e = &own;
    job->n_blocks = job->host_free = 0;
    if ((job->dst.block && gb_cuda_stream_wait_block(job->dst.block, on, e)) ||
        (job->src.block && gb_cuda_stream_wait_block(job->src.block, from, e)))
        return -1;
    if (!is_on_gpu(&job->dst) || !is_on_gpu(&job->src)) return between(job, e);
    return on.device == from.device ? within(job, e) : across(job, e);
}
