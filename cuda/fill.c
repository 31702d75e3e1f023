/* fill.c: one value everywhere: by the driver's memset where the value repeats within four bytes,
 * else by a kernel, or, where the driver takes no kernels, by a first element that is copied again
 * and again. */
#include "launch.h"
#include "moves.h"
#include "strided.h"

#define MOST_ROWS 1024 /* that are worth copies of their own */

int gb_cuda_zero(gb_cuda_block *block, int64_t bytes, gb_cuda_queue on, gb_cuda_error *e) {
    if (bytes == 0) return 0;
    int width = bytes % 4 == 0 && block->data % 4 == 0 ? 4 : 1;
    if (!gb_cu_enter(on.device, e)) return -1;
    return gb_cu_left(gb_cuda_set(block->data, width, 0, bytes / width, on, e) ||
                              gb_cuda_record_use(block, on, e)
                          ? -1
                          : 0);
}

/* The widest power of two up to 4 that repeats in the value and divides what the driver is given;
 * 0: none does. */
static int unit_of(const char *value, int64_t itemsize, uint64_t data) {
    for (int width = 4; width > 0; width /= 2)
        if (itemsize % width == 0 && data % (uint64_t)width == 0 &&
            (itemsize == width || memcmp(value, value + width, (size_t)(itemsize - width)) == 0))
            return width;
    return 0;
}

static int set(uint64_t dst, const char *value, int width, int64_t bytes, gb_cuda_queue on,
               gb_cuda_error *e) {
    uint32_t word = 0;
    memcpy(&word, value, (size_t)width);
    return gb_cuda_set(dst, width, word, bytes / width, on, e);
}

/* One element: runs of equal words in one call each. */
static int put(uint64_t dst, const char *value, int64_t itemsize, gb_cuda_queue on,
               gb_cuda_error *e) {
    uint64_t all = dst | (uint64_t)itemsize;
    int width = all & 1 ? 1 : all & 2 ? 2 : 4, bad = 0;
    for (int64_t at = 0, end; at < itemsize && !bad; at = end) {
        for (end = at + width;
             end < itemsize && memcmp(value + at, value + end, (size_t)width) == 0;)
            end += width;
        bad = set(dst + (uint64_t)at, value + at, width, end - at, on, e);
    }
    return bad;
}

/* Without a kernel: a row that doubles, and rows like it. */
static int by_copies(const gb_cu_pair *p, uint64_t first, const char *value, int64_t itemsize,
                     gb_cuda_queue on, gb_cuda_error *e) {
    int64_t index[GB_COPY_DIMS + 1] = {0}, row = p->axis[p->ndim - 1].n;
    uint64_t at = first, same = first;
    int bad = put(first, value, itemsize, on, e);
    for (int64_t have = itemsize, more; have < row && !bad; have += more) {
        more = have < row - have ? have : row - have;
        bad = gb_cuda_copy(GB_CUDA_WITHIN, first + (uint64_t)have, first, more, on, e);
    }
    while (!bad && gb_copy_axis_step(p->axis, p->ndim - 1, index, &at, &same))
        bad = gb_cuda_copy(GB_CUDA_WITHIN, at, first, row, on, e);
    return bad;
}

/* `part` bytes of every element, a power of two that divides whatever there is. */
static int fill_part(const gb_cu_pair *p, uint64_t first, const char *value, int part,
                     gb_cuda_queue on, gb_cuda_error *e) {
    gb_cu_pair q = *p;
    gb_kernel_job job;
    for (int i = 0; i < q.ndim; i++)
        q.axis[i].src = q.axis[i].dst; /* nothing is read: let it not stand in the way of merging */
    gb_cu_device *d = gb_cu_enter(on.device, e);
    if (!d) return -1;
    int bad = gb_cu_pair_bytes(&q, part, e);
    if (!bad) {
        int word = gb_cu_job_of(&job, &q, 0, first, first);
        for (int i = 0; i < 16; i++) ((char *)job.value)[i] = value[i % part];
        bad = gb_cu_launch(d, GB_CU_FILL, word, &job, on.stream, e);
        if (bad && e->status == GB_CUDA_NO_KERNELS &&
            p->size * part / q.axis[q.ndim - 1].n <= MOST_ROWS)
            bad = by_copies(&q, first, value, part, on, e);
    }
    return gb_cu_left(bad);
}

/* Elements that no kernel has, and more axes than it has, are copied from the first, which is
 * written by itself. */
static int spread(const gb_cu_pair *p, uint64_t data, const char *value, int64_t itemsize,
                  gb_cuda_queue on, gb_cuda_error *e) {
    uint64_t first = data + (uint64_t)p->a_at, all = first | (uint64_t)itemsize;
    int dense = p->ndim == 0 || (p->ndim == 1 && p->axis[0].dst == itemsize),
        width = dense ? unit_of(value, itemsize, first) : 0, bad = 0;
    if (width) return set(first, value, width, p->size * itemsize, on, e);
    if (p->size == 1) return put(first, value, itemsize, on, e);
    if (p->ndim >= GB_KERNEL_AXES || itemsize > 16 || itemsize & (itemsize - 1))
        return put(first, value, itemsize, on, e)
                   ? -1
                   : gb_cu_pair_relayout(p, data, first, itemsize, on, e);
    for (int i = 0; i < p->ndim; i++) all |= (uint64_t)p->axis[i].dst;
    int part = (int)(all & -all);
    for (int at = 0; at < itemsize && !bad; at += part)
        bad = fill_part(p, first + (uint64_t)at, value + at, part, on, e);
    return bad;
}

int gb_cuda_fill_strided(const gb_cuda_side *dst, int ndim, const int64_t *shape, const void *value,
                         gb_cuda_error *e) {
    int64_t nowhere[GB_COPY_DIMS] = {0};
    gb_cuda_error own;
    gb_cu_pair p;
    if (!e) e = &own;
    gb_cu_pair_make(&p, ndim, shape, dst->strides, nowhere);
    if (p.size == 0 || dst->itemsize == 0) return 0;
    if (!gb_cu_enter(dst->on.device, e)) return -1;
    int bad = (dst->block && gb_cuda_stream_wait_block(dst->block, dst->on, e)) ||
              spread(&p, dst->data, value, dst->itemsize, dst->on, e) ||
              (dst->block && gb_cuda_record_use(dst->block, dst->on, e));
    return gb_cu_left(bad ? -1 : 0);
}
