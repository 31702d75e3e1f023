/* fill.c: one value everywhere: by the driver's memset where the value repeats within four bytes, else by
 * a kernel, or, where the driver takes no kernels, by a first element that is copied again and again. */
#include "launch.h"
#include "relayout.h"

#define MOST_ROWS 1024   /* that are worth copies of their own */

/* The widest unit of 4 bytes or less that divides what the driver is given. */
static int unit(uint64_t all) { return all & 1 ? 1 : all & 2 ? 2 : 4; }

static int set(uint64_t dst, const char *value, int width, size_t count, gb_cuda_queue on, gb_cuda_error *e) {
    uint32_t word = 0;
    memcpy(&word, value, (size_t)width);
    if (width == 1) return GB_CU(e, cuMemsetD8Async, dst, (unsigned char)word, count, GB_CU_STREAM(on));
    if (width == 2) return GB_CU(e, cuMemsetD16Async, dst, (unsigned short)word, count, GB_CU_STREAM(on));
    return GB_CU(e, cuMemsetD32Async, dst, word, count, GB_CU_STREAM(on));
}

/* With the context current: runs of equal words in one call each. */
static int put(uint64_t dst, const char *value, int64_t itemsize, gb_cuda_queue on, gb_cuda_error *e) {
    int width = unit(dst | (uint64_t)itemsize), bad = 0;
    for (int64_t at = 0, end; at < itemsize && !bad; at = end) {
        for (end = at + width; end < itemsize && memcmp(value + at, value + end, (size_t)width) == 0;) end += width;
        bad = set(dst + (uint64_t)at, value + at, width, (size_t)((end - at) / width), on, e);
    }
    return bad;
}

int gb_cuda_put(uint64_t dst, const void *value, int64_t itemsize, gb_cuda_queue on, gb_cuda_error *e) {
    if (!gb_cu_enter(on.device, e)) return -1;
    int bad = put(dst, value, itemsize, on, e);
    gb_cu_leave();
    return bad;
}

/* ---- without a kernel: a row that doubles, and rows like it ---- */

static int row(uint64_t dst, int64_t bytes, const char *value, int64_t itemsize, gb_cuda_queue on, gb_cuda_error *e) {
    int bad = put(dst, value, itemsize, on, e);
    for (int64_t have = itemsize, more; have < bytes && !bad; have += more) {
        more = have < bytes - have ? have : bytes - have;
        bad = GB_CU(e, cuMemcpyDtoDAsync_v2, dst + (uint64_t)have, dst, (size_t)more, GB_CU_STREAM(on));
    }
    return bad;
}

/* Axis 0 of a prepared job is bytes without gaps. */
static int by_copies(const gb_kernel_job *job, const char *value, int64_t itemsize, gb_cuda_queue on, gb_cuda_error *e) {
    long long index[GB_KERNEL_AXES] = {0};
    gb_word at = job->dst;
    int bad = row(at, job->shape[0], value, itemsize, on, e), axis;
    while (!bad) {
        for (axis = 1; axis < job->ndim; axis++) {
            at += (gb_word)job->dst_strides[axis];
            if (++index[axis] < job->shape[axis]) break;
            at -= (gb_word)(job->shape[axis] * job->dst_strides[axis]);
            index[axis] = 0;
        }
        if (axis == job->ndim) return 0;
        bad = GB_CU(e, cuMemcpyDtoDAsync_v2, at, job->dst, (size_t)job->shape[0], GB_CU_STREAM(on));
    }
    return bad;
}

static int64_t rows(const gb_kernel_job *job) {
    int64_t n = 1;
    for (int axis = 1; axis < job->ndim; axis++)
        if (__builtin_mul_overflow(n, job->shape[axis], &n)) return INT64_MAX;
    return n;
}

/* ---- with one ---- */

static int is_repeating(const gb_kernel_job *job, const char *words, int part) {
    return job->ndim == 1 && memcmp(words, words + 4, 12) == 0 && (part == 1 || (job->dst % 4 == 0 && job->shape[0] % 4 == 0));
}

static int fill_part(gb_cu_device *d, const gb_cuda_view *dst, const int64_t *shape, int ndim, int part, const char *value, gb_cuda_queue on,
                     gb_cuda_error *e) {
    gb_kernel_job job, plain;
    gb_cuda_error own;
    char words[16];
    if (!e) e = &own;
    int nothing = gb_cu_prepare(&job, dst, NULL, shape, ndim, part, e);
    if (nothing) return nothing < 0 ? -1 : 0;
    for (int i = 0; i < 16; i++) words[i] = value[i % part];
    memcpy(job.value, words, sizeof words);
    if (job.ndim == 1 && job.shape[0] == part) return put(job.dst, value, part, on, e);
    if (is_repeating(&job, words, part)) {
        int width = job.dst % 4 || job.shape[0] % 4 ? 1 : 4;
        return set(job.dst, words, width, (size_t)(job.shape[0] / width), on, e);
    }
    plain = job;
    if (gb_cu_launch(d, GB_CU_FILL, gb_cu_into_words(&job), &job, on.stream, e) == 0) return 0;
    return e->status == GB_CUDA_NO_KERNELS && rows(&plain) <= MOST_ROWS ? by_copies(&plain, value, part, on, e) : -1;
}

/* A destination that is not aligned to its elements is filled part by part. */
int gb_cuda_fill(const gb_cuda_view *dst, const int64_t *shape, int ndim, const void *value, int itemsize, gb_cuda_queue on, gb_cuda_error *e) {
    if (itemsize < 1 || itemsize > 16 || (itemsize & (itemsize - 1)))
        return gb_cu_fail(e, GB_CUDA_ARGUMENT, "elements of %d bytes cannot be filled: 1, 2, 4, 8 or 16", itemsize);
    uint64_t all = dst->data | (uint64_t)itemsize;
    for (int a = 0; a < ndim && a < GB_CUDA_AXES; a++) all |= shape[a] > 1 ? (uint64_t)dst->strides[a] : 0;
    int part = (int)(all & -all), bad = 0;
    gb_cu_device *d = gb_cu_enter(on.device, e);
    if (!d) return -1;
    gb_cuda_view view = *dst;
    for (int at = 0; at < itemsize && !bad; at += part, view.data += (uint64_t)part)
        bad = fill_part(d, &view, shape, ndim, part, (const char *)value + at, on, e);
    gb_cu_leave();
    return bad;
}
