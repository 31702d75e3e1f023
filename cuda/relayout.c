/* relayout.c: the kernels' launch, and what they do: any strides into any strides within a GPU, one
 * value everywhere. */
#include "moves.h"
#include "strided.h"

#include <pthread.h>

/* ---- loading and launching ---- */

/* Made by kernels.py. */
__asm__(".pushsection .rodata\n"
        ".globl gb_cu_ptx\n"
        ".hidden gb_cu_ptx\n"
        "gb_cu_ptx: .incbin \"kernels.ptx\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char gb_cu_ptx[];

#define THREADS 256
#define MOST_BLOCKS (1 << 20)
#define PROGRAM_BLOCKS (1 << 13) /* each block searches its entries once */
#define ON(stream) ((CUstream)(uintptr_t)(stream))

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* Codes of a driver that cannot compile the PTX: invalid image, no binary, invalid PTX, no
 * compiler, PTX too new, switched off. */
static int takes_none(int code) {
    static const int codes[] = {200, 209, 218, 221, 222, 223};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] == code) return 1;
    return 0;
}

static int load(gb_cu_device *d, gb_cuda_error *e) {
    gb_cuda_error said = {0};
    CUmodule loaded = NULL;
    int bad = GB_CU(&said, cuModuleLoadData, &loaded, gb_cu_ptx);
    if (!bad) {
        __atomic_store_n(&d->kernels, loaded, __ATOMIC_RELEASE);
        return 0;
    }
    if (!takes_none(said.code)) {
        if (e) *e = said;
        return -1;
    }
    gb_cu_fail(e, GB_CUDA_NO_KERNELS,
               "gridbuf's kernels cannot be used: %.200s. They are PTX, which the driver compiles; "
               "one for a newer CUDA does. "
               "What needs no kernel works: values laid out on the host in the GPU's order of "
               "strides, and copied",
               said.text);
    if (e) e->code = said.code;
    return -1;
}

/* The kernel; the context is current. The driver compiles the PTX for the GPU at the first use, and
 * keeps the result in its cache on disk. */
static CUfunction kernel(gb_cu_device *d, int way, int word, gb_cuda_error *e) {
    static const char *const names[] = {"gb_copy_%d", "gb_copy_far_%d", "gb_fill_%d",
                                        "gb_transpose_%d", "gb_program_%d"};
    CUfunction *slot = &d->functions[way][__builtin_ctz((unsigned)word)];
    char name[32];
    pthread_mutex_lock(&loading);
    if (!*slot && (d->kernels || load(d, e) == 0)) {
        snprintf(name, sizeof name, names[way], word);
        if (GB_CU(e, cuModuleGetFunction, slot, d->kernels, name)) *slot = NULL;
    }
    CUfunction found = *slot;
    pthread_mutex_unlock(&loading);
    return found;
}

int gb_cuda_kernels(int device, gb_cuda_error *e) {
    gb_cu_device *d = gb_cu_retained(device);
    if (d && __atomic_load_n(&d->kernels, __ATOMIC_ACQUIRE)) return 0;
    if (!(d = gb_cu_enter(device, e))) return -1;
    pthread_mutex_lock(&loading);
    int bad = d->kernels ? 0 : load(d, e);
    pthread_mutex_unlock(&loading);
    return gb_cu_left(bad);
}

/* The context is current. */
static int launch_job(gb_cu_device *d, int way, int word, gb_kernel_job *job, gb_cuda_stream stream,
                      gb_cuda_error *e) {
    CUfunction function = kernel(d, way, word, e);
    if (!function) return -1;
    int64_t blocks = way == GB_CU_TRANSPOSE ? job->count : (job->count + THREADS - 1) / THREADS;
    if (way != GB_CU_TRANSPOSE && blocks > MOST_BLOCKS) blocks = MOST_BLOCKS;
    return GB_CU(e, cuLaunchKernel, function, (unsigned)blocks, 1, 1,
                 way == GB_CU_TRANSPOSE ? GB_TILE : THREADS,
                 way == GB_CU_TRANSPOSE ? GB_TILE_ROWS : 1, 1, 0, ON(stream), (void *[]){job},
                 NULL);
}

int gb_cu_launch_program(gb_cu_device *d, gb_kernel_program *job, gb_cuda_stream stream,
                         gb_cuda_error *e) {
    CUfunction function = kernel(d, GB_CU_PROGRAM, 1, e);
    if (!function) return -1;
    int64_t blocks = (job->end - job->first + THREADS - 1) / THREADS;
    if (blocks > PROGRAM_BLOCKS) blocks = PROGRAM_BLOCKS;
    return GB_CU(e, cuLaunchKernel, function, (unsigned)blocks, 1, 1, THREADS, 1, 1, 0, ON(stream),
                 (void *[]){job}, NULL);
}

/* ---- any strides to any strides within a device ---- */

/* An element is an axis of bytes at first. Axes that continue each other on both sides merge, and
 * the fastest axis is moved in the largest words that divide addresses, strides and lengths. */

/* Makes each element an axis of bytes, the last one; -1: elements of side a overlap. */
static int pair_bytes(gb_cu_pair *p, int64_t itemsize, gb_cuda_error *e) {
    for (int i = 0; i < p->ndim; i++)
        if (p->axis[i].dst == 0)
            return gb_cu_fail(e, GB_CUDA_ARGUMENT,
                              "the destination's elements overlap: stride 0 along index %d", i);
    p->axis[p->ndim++] = (gb_copy_axis){itemsize, 1, 1};
    p->ndim = gb_copy_axis_merge(p->axis, p->ndim);
    return 0;
}

/* Writes the axes of such a pair from `outer` on as a job of a kernel; the bytes of its words. */
static int job_of(gb_kernel_job *j, const gb_cu_pair *p, int outer, uint64_t a, uint64_t b) {
    int last = p->ndim - 1;
    uint64_t all = a | b | (uint64_t)p->axis[last].n | 16;
    for (int i = outer; i < last; i++) all |= (uint64_t)p->axis[i].dst | (uint64_t)p->axis[i].src;
    int word = (int)(all & -all);
    *j = (gb_kernel_job){.dst = a, .src = b, .count = 1};
    for (int i = last; i >= outer; i--) {
        gb_copy_axis x = p->axis[i];
        if (i == last) x = (gb_copy_axis){x.n / word, word, word};
        if (x.n == 1) continue;
        j->shape[j->ndim] = x.n;
        j->dst_strides[j->ndim] = x.dst;
        j->src_strides[j->ndim] = x.src;
        j->ndim++;
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

/* Moves the axes from `outer` on. */
static int carry(const gb_cu_pair *p, int outer, uint64_t a, uint64_t b, gb_cuda_queue on,
                 gb_cuda_error *e) {
    gb_kernel_job job;
    if (p->ndim - outer == 1) return gb_cuda_copy(GB_CUDA_WITHIN, a, b, p->axis[outer].n, on, e);
    gb_cu_device *d = gb_cu_enter(on.device, e);
    if (!d) return -1;
    int word = job_of(&job, p, outer, a, b);
    int way = job.count < 1 << 30 ? GB_CU_COPY : GB_CU_FAR;
    if (in_tiles(&job)) way = GB_CU_TRANSPOSE;
    int bad = launch_job(d, way, word, &job, on.stream, e);
    return gb_cu_left(bad);
}

int gb_cu_pair_relayout(const gb_cu_pair *p, uint64_t a, uint64_t b, int64_t itemsize,
                        gb_cuda_queue on, gb_cuda_error *e) {
    gb_cu_pair q = *p;
    int64_t index[GB_COPY_DIMS + 1] = {0};
    if (p->size == 0) return 0;
    if (pair_bytes(&q, itemsize, e)) return -1;
    int outer = q.ndim > GB_KERNEL_AXES ? q.ndim - GB_KERNEL_AXES : 0;
    a += (uint64_t)p->a_at;
    b += (uint64_t)p->b_at;
    do {
        if (carry(&q, outer, a, b, on, e)) return -1;
    } while (gb_copy_axis_step(q.axis, outer, index, &a, &b));
    return 0;
}

/* ---- one value everywhere ---- */

/* The driver's memset where the value repeats within four bytes, else a kernel, or, where the
 * driver takes no kernels, copies of a first element. */

#define MOST_ROWS 1024 /* of a fill without kernels, each a copy */

int gb_cuda_zero(gb_cuda_block *block, int64_t bytes, gb_cuda_queue on, gb_cuda_error *e) {
    if (bytes == 0) return 0;
    int width = bytes % 4 == 0 && block->data % 4 == 0 ? 4 : 1;
    if (!gb_cu_enter(on.device, e)) return -1;
    int bad = gb_cuda_set(block->data, width, 0, bytes / width, on, e) ||
              gb_cuda_record_use(block, on, e);
    return gb_cu_left(bad ? -1 : 0);
}

/* The widest word up to 4 bytes that repeats in the value and divides address and item size, or 0.
 */
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
    int width = all & 1 ? 1 : all & 2 ? 2 : 4;
    int bad = 0;
    for (int64_t at = 0, end; at < itemsize && !bad; at = end) {
        end = at + width;
        while (end < itemsize && memcmp(value + at, value + end, (size_t)width) == 0) end += width;
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

/* Fills `part` bytes of every element: a power of two that divides address and strides. */
static int fill_part(const gb_cu_pair *p, uint64_t first, const char *value, int part,
                     gb_cuda_queue on, gb_cuda_error *e) {
    gb_cu_pair q = *p;
    gb_kernel_job job;
    /* Nothing is read: the source's strides must not keep axes from merging. */
    for (int i = 0; i < q.ndim; i++) q.axis[i].src = q.axis[i].dst;
    gb_cu_device *d = gb_cu_enter(on.device, e);
    if (!d) return -1;
    int bad = pair_bytes(&q, part, e);
    if (!bad) {
        int word = job_of(&job, &q, 0, first, first);
        for (int i = 0; i < 16; i++) ((char *)job.value)[i] = value[i % part];
        bad = launch_job(d, GB_CU_FILL, word, &job, on.stream, e);
        if (bad && e->status == GB_CUDA_NO_KERNELS &&
            p->size * part / q.axis[q.ndim - 1].n <= MOST_ROWS)
            bad = by_copies(&q, first, value, part, on, e);
    }
    return gb_cu_left(bad);
}

/* Elements without a kernel, and more axes than a kernel has, are copied from a first element. */
static int spread(const gb_cu_pair *p, uint64_t data, const char *value, int64_t itemsize,
                  gb_cuda_queue on, gb_cuda_error *e) {
    uint64_t first = data + (uint64_t)p->a_at;
    uint64_t all = first | (uint64_t)itemsize;
    int dense = p->ndim == 0 || (p->ndim == 1 && p->axis[0].dst == itemsize);
    int width = dense ? unit_of(value, itemsize, first) : 0;
    int bad = 0;
    if (width) return set(first, value, width, p->size * itemsize, on, e);
    if (p->size == 1) return put(first, value, itemsize, on, e);
    if (p->ndim >= GB_KERNEL_AXES || itemsize > 16 || itemsize & (itemsize - 1)) {
        if (put(first, value, itemsize, on, e)) return -1;
        return gb_cu_pair_relayout(p, data, first, itemsize, on, e);
    }
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
