/* moves.c: moves of bytes, rows and strided pairs by the driver. */
#include "moves.h"

/* ---- bytes ---- */

int gb_cuda_copy(int direction, uint64_t dst, uint64_t src, int64_t bytes, gb_cuda_queue on,
                 gb_cuda_error *e) {
    if (direction < GB_CUDA_UPLOAD || direction > GB_CUDA_WITHIN)
        return gb_cu_fail(e, GB_CUDA_ARGUMENT, "direction is %d, not 0, 1 or 2", direction);
    if (bytes < 0) return gb_cu_fail(e, GB_CUDA_ARGUMENT, "%lld bytes to copy", (long long)bytes);
    if (bytes == 0) return 0;
    if (!gb_cu_enter(on.device, e)) return -1;
    CUstream stream = GB_CU_STREAM(on);
    size_t n = (size_t)bytes;
    int bad = -1;
    switch (direction) {
    case GB_CUDA_UPLOAD:
        bad = GB_CU(e, cuMemcpyHtoDAsync_v2, dst, (const void *)(uintptr_t)src, n, stream);
        break;
    case GB_CUDA_DOWNLOAD:
        bad = GB_CU(e, cuMemcpyDtoHAsync_v2, (void *)(uintptr_t)dst, src, n, stream);
        break;
    case GB_CUDA_WITHIN: bad = GB_CU(e, cuMemcpyDtoDAsync_v2, dst, src, n, stream); break;
    }
    return gb_cu_left(bad);
}

/* Acts on the destination's device; the source's context is retained first. */
int gb_cuda_copy_peer(uint64_t dst, uint64_t src, int src_device, int64_t bytes, gb_cuda_queue on,
                      gb_cuda_error *e) {
    if (bytes < 0) return gb_cu_fail(e, GB_CUDA_ARGUMENT, "%lld bytes to copy", (long long)bytes);
    if (bytes == 0) return 0;
    gb_cu_device *from = gb_cu_enter(src_device, e);
    if (!from) return -1;
    gb_cu_leave();
    gb_cu_device *to = gb_cu_enter(on.device, e);
    if (!to) return -1;
    return gb_cu_left(GB_CU(e, cuMemcpyPeerAsync, dst, to->context, src, from->context,
                            (size_t)bytes, GB_CU_STREAM(on)));
}

int gb_cuda_set(uint64_t dst, int width, uint32_t value, int64_t count, gb_cuda_queue on,
                gb_cuda_error *e) {
    if ((width != 1 && width != 2 && width != 4) || count < 0 || dst % (uint64_t)width)
        return gb_cu_fail(e, GB_CUDA_ARGUMENT, "cannot set %lld values of %d bytes at %#llx",
                          (long long)count, width, (unsigned long long)dst);
    if (count == 0) return 0;
    if (!gb_cu_enter(on.device, e)) return -1;
    CUstream stream = GB_CU_STREAM(on);
    size_t n = (size_t)count;
    int bad = -1;
    switch (width) {
    case 1: bad = GB_CU(e, cuMemsetD8Async, dst, (unsigned char)value, n, stream); break;
    case 2: bad = GB_CU(e, cuMemsetD16Async, dst, (unsigned short)value, n, stream); break;
    case 4: bad = GB_CU(e, cuMemsetD32Async, dst, value, n, stream); break;
    }
    return gb_cu_left(bad);
}

/* ---- pairs ---- */

void gb_cu_pair_make(gb_cu_pair *p, int ndim, const int64_t *shape, const int64_t *a,
                     const int64_t *b) {
    p->size = 1;
    p->a_at = 0;
    p->b_at = 0;
    p->ndim = 0;
    for (int i = 0; i < ndim; i++) {
        p->size *= shape[i];
        if (shape[i] == 1) continue;
        gb_copy_axis x = {shape[i], a[i], b[i]};
        if (x.dst < 0) { /* walk both sides backwards */
            p->a_at += (x.n - 1) * x.dst;
            p->b_at += (x.n - 1) * x.src;
            x = (gb_copy_axis){x.n, -x.dst, -x.src};
        }
        p->ndim = gb_copy_axis_insert(p->axis, p->ndim, x);
    }
    p->ndim = p->size ? gb_copy_axis_merge(p->axis, p->ndim) : 0;
}

void gb_cu_pair_lists(const gb_cu_pair *p, int64_t *shape, int64_t *a, int64_t *b) {
    for (int i = 0; i < p->ndim; i++) {
        shape[i] = p->axis[i].n;
        a[i] = p->axis[i].dst;
        b[i] = p->axis[i].src;
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
    for (int i = 0; i < p->ndim; i++) {
        if (keep_a) q.axis[i].src = dense[i];
        else q.axis[i].dst = dense[i];
    }
    return q;
}

int gb_cu_pair_is_packed(const gb_cu_pair *p) {
    for (int i = 0; i < p->ndim; i++)
        if (p->axis[i].dst != p->axis[i].src) return 0;
    return 1;
}

int gb_cu_pair_overlaps(const gb_cu_pair *p, uint64_t a, uint64_t b, int64_t itemsize) {
    int64_t low = (int64_t)a + p->a_at;
    int64_t high = low + itemsize;
    int64_t low2 = (int64_t)b + p->b_at;
    int64_t high2 = low2 + itemsize;
    for (int i = 0; i < p->ndim; i++) {
        int64_t extent = (p->axis[i].n - 1) * p->axis[i].src;
        high += (p->axis[i].n - 1) * p->axis[i].dst;
        if (extent < 0) low2 += extent;
        else high2 += extent;
    }
    return low < high2 && low2 < high;
}

/* ---- pairs between host and GPU ---- */

#define MAX_PITCH (((int64_t)1 << 31) - 1) /* of a copy in rows */

/* One call of the driver: `rows` rows of `width` bytes. */
typedef struct {
    int64_t width, rows, a_pitch, b_pitch;
} block;

/* Takes the fastest axes into one call; returns how many axes are left. */
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
        c.srcMemoryType = CU_MEMORYTYPE_HOST;
        c.srcHost = (const void *)(uintptr_t)host;
        c.srcPitch = (size_t)m->b_pitch;
        c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
        c.dstDevice = gpu;
        c.dstPitch = (size_t)m->a_pitch;
    } else {
        c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
        c.srcDevice = gpu;
        c.srcPitch = (size_t)m->a_pitch;
        c.dstMemoryType = CU_MEMORYTYPE_HOST;
        c.dstHost = (void *)(uintptr_t)host;
        c.dstPitch = (size_t)m->b_pitch;
    }
    if (!gb_cu_enter(on.device, e)) return -1;
    return gb_cu_left(GB_CU(e, cuMemcpy2DAsync_v2, &c, GB_CU_STREAM(on)));
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
