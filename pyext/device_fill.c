/* device_fill.c: one value everywhere, without a trip to the host. */
#include "device_route.h"

#include <string.h>

int gb_device_zero(gb_cuda_block *block, int64_t bytes, gb_cuda_stream stream) {
    gb_cuda_error e;
    if (bytes == 0) return 0;
    int whole = bytes % 4 == 0 && block->data % 4 == 0;
    if (gb_cuda_set(block->data, whole ? 4 : 1, 0, whole ? bytes / 4 : bytes, block->device, stream, &e) < 0 || gb_cuda_mark(block, stream, &e) < 0)
        return gb_cuda_raise(&e);
    return 0;
}

/* The widest power of two up to 4 that repeats in the value and divides what the driver is given. */
static int unit_of(const void *value, int64_t itemsize, uint64_t data, int repeating) {
    for (int width = 4; width > 1; width /= 2) {
        if (itemsize % width || data % (uint64_t)width) continue;
        if (!repeating || itemsize == width || memcmp(value, (const char *)value + width, (size_t)(itemsize - width)) == 0) return width;
    }
    if (!repeating || itemsize == 1 || memcmp(value, (const char *)value + 1, (size_t)(itemsize - 1)) == 0) return 1;
    return 0;
}

static uint32_t piece(const char *value, int width) {
    uint32_t word = 0;
    memcpy(&word, value, (size_t)width);
    return word;
}

/* By the kernel; where its items are too small for the value, the first element is written piece by piece and copied from. */
static int spread(const gb_pair *p, uint64_t data, const char *value, int64_t itemsize, int device, gb_cuda_stream stream) {
    gb_cuda_error e;
    uint64_t first = data + (uint64_t)p->a_at;
    if (p->ndim <= GB_CUDA_AXES && itemsize <= 16 && (itemsize & (itemsize - 1)) == 0 && first % (uint64_t)itemsize == 0) {
        int64_t shape[GB_CUDA_AXES] = {1};
        gb_cuda_view view = {.data = first};
        uint64_t all = 0;
        for (int i = 0; i < p->ndim; i++) {
            shape[i] = p->axis[i].n;
            view.strides[i] = p->axis[i].a;
            all |= (uint64_t)p->axis[i].a;
        }
        if (all % (uint64_t)itemsize == 0)
            return gb_cuda_fill(&view, shape, p->ndim ? p->ndim : 1, value, (int)itemsize, device, stream, &e) < 0 ? gb_cuda_raise(&e) : 0;
    }
    int width = unit_of(value, itemsize, first, 0);
    for (int64_t i = 0; i < itemsize; i += width)
        if (gb_cuda_set(first + (uint64_t)i, width, piece(value + i, width), 1, device, stream, &e) < 0) return gb_cuda_raise(&e);
    if (p->size == 1) return 0;
    return gb_pair_relayout(p, data, first, itemsize, device, stream);
}

int gb_device_set(gb_field *dst, const void *value, gb_cuda_stream stream) {
    int64_t nowhere[GB_MAXDIMS] = {0}, item = dst->geometry.itemsize;
    gb_cuda_error e;
    gb_pair p;
    gb_cuda_block *block = gb_field_block(dst);
    if (dst->geometry.nbytes == 0) return 0;
    if (block && gb_cuda_settle(block, stream, &e) < 0) return gb_cuda_raise(&e);
    gb_pair_make(&p, dst->geometry.ndim, dst->geometry.shape, dst->geometry.strides, nowhere);
    uint64_t data = (uint64_t)(uintptr_t)dst->data, first = data + (uint64_t)p.a_at;
    int device = dst->place.device, dense = p.ndim == 0 || (p.ndim == 1 && p.axis[0].a == item);
    int width = dense ? unit_of(value, item, first, 1) : 0, rc;
    if (width) rc = gb_cuda_set(first, width, piece(value, width), p.size * item / width, device, stream, &e) < 0 ? gb_cuda_raise(&e) : 0;
    else rc = spread(&p, data, value, item, device, stream);
    if (rc == 0 && block && gb_cuda_mark(block, stream, &e) < 0) rc = gb_cuda_raise(&e);
    return rc;
}
