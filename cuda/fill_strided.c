/* fill_strided.c: one value into strided memory of a GPU, without a trip to the host. */
#include "context.h"
#include "moves.h"
#include "strided.h"

int gb_cuda_zero(gb_cuda_block *block, int64_t bytes, gb_cuda_queue on, gb_cuda_error *e) {
    if (bytes == 0) return 0;
    int width = bytes % 4 == 0 && block->data % 4 == 0 ? 4 : 1;
    if (!gb_cu_enter(on.device, e)) return -1;
    int bad = gb_cuda_set(block->data, width, 0, bytes / width, on, e) || gb_cuda_record_use(block, on, e);
    gb_cu_leave();
    return bad ? -1 : 0;
}

/* The widest power of two up to 4 that repeats in the value and divides what the driver is given; 0: none does. */
static int unit_of(const char *value, int64_t itemsize, uint64_t data) {
    for (int width = 4; width > 0; width /= 2)
        if (itemsize % width == 0 && data % (uint64_t)width == 0 &&
            (itemsize == width || memcmp(value, value + width, (size_t)(itemsize - width)) == 0)) return width;
    return 0;
}

static uint32_t piece(const char *value, int width) {
    uint32_t word = 0;
    memcpy(&word, value, (size_t)width);
    return word;
}

/* By the kernel; where its items are too small for the value, the first element is written by itself and copied from. */
static int spread(const gb_cu_pair *p, uint64_t data, const char *value, int64_t itemsize, gb_cuda_queue on, gb_cuda_error *e) {
    uint64_t first = data + (uint64_t)p->a_at;
    if (p->size == 1) return gb_cuda_put(first, value, itemsize, on, e);
    if (p->ndim <= GB_CUDA_AXES && itemsize <= 16 && (itemsize & (itemsize - 1)) == 0 && first % (uint64_t)itemsize == 0) {
        int64_t shape[GB_CUDA_AXES] = {1};
        gb_cuda_view view = {.data = first};
        uint64_t all = 0;
        for (int i = 0; i < p->ndim; i++) {
            shape[i] = p->axis[i].n;
            view.strides[i] = p->axis[i].dst;
            all |= (uint64_t)p->axis[i].dst;
        }
        if (all % (uint64_t)itemsize == 0) return gb_cuda_fill(&view, shape, p->ndim ? p->ndim : 1, value, (int)itemsize, on, e);
    }
    return gb_cuda_put(first, value, itemsize, on, e) < 0 ? -1 : gb_cu_pair_relayout(p, data, first, itemsize, on, e);
}

static int set(const gb_cuda_side *dst, const gb_cu_pair *p, const char *value, gb_cuda_error *e) {
    int64_t item = dst->itemsize;
    uint64_t first = dst->data + (uint64_t)p->a_at;
    int dense = p->ndim == 0 || (p->ndim == 1 && p->axis[0].dst == item), width = dense ? unit_of(value, item, first) : 0;
    if (dst->block && gb_cuda_stream_wait_block(dst->block, dst->on, e)) return -1;
    if (width ? gb_cuda_set(first, width, piece(value, width), p->size * item / width, dst->on, e) : spread(p, dst->data, value, item, dst->on, e))
        return -1;
    return dst->block ? gb_cuda_record_use(dst->block, dst->on, e) : 0;
}

int gb_cuda_fill_strided(const gb_cuda_side *dst, int ndim, const int64_t *shape, const void *value, gb_cuda_error *e) {
    int64_t nowhere[GB_COPY_DIMS] = {0};
    gb_cu_pair p;
    gb_cu_pair_make(&p, ndim, shape, dst->strides, nowhere);
    if (p.size == 0 || dst->itemsize == 0) return 0;
    if (!gb_cu_enter(dst->on.device, e)) return -1;
    int bad = set(dst, &p, value, e);
    gb_cu_leave();
    return bad ? -1 : 0;
}
