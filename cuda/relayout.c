/* relayout.c: any strides to any strides within a device. An element is an axis of bytes at
 * first; axes that continue each other in both views merge, and what then is the fastest
 * axis is moved in the largest words that divide everything. */
#include "driver.h"

#include "relayout.h"
#include "kernels_ptx.h"
#include "unpack.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 256
#define MOST_BLOCKS (1 << 20)
#define ON(stream) ((CUstream)(uintptr_t)(stream))

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* What a driver says that cannot compile our PTX, now or ever. */
static int takes_none(int code) {
    static const int codes[] = {200, 209, 218, 221, 222, 223};   /* invalid image, no binary, invalid PTX, no compiler, too new, switched off */
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] == code) return 1;
    return 0;
}

static int load(gb_cu_device *d, gb_cuda_error *e) {
    char *ptx = malloc(KERNELS_PTX_BYTES + 1);
    if (!ptx) return gb_cu_fail(e, GB_CUDA_NO_MEMORY, "no host memory for the text of the kernels");
    gb_unpack(ptx, kernels_ptx, kernels_ptx + sizeof kernels_ptx);
    gb_cuda_error said = {0};
    CUmodule loaded = NULL;
    int bad = GB_CU(&said, cuModuleLoadData, &loaded, ptx);
    free(ptx);
    if (!bad) __atomic_store_n(&d->kernels, loaded, __ATOMIC_RELEASE);
    if (!bad) return 0;
    if (!takes_none(said.code)) {
        if (e) *e = said;
        return -1;
    }
    gb_cu_fail(e, GB_CUDA_NO_KERNELS, "gridbuf's kernels cannot be used: %.200s. They are PTX, which the driver compiles; one for a newer CUDA does. "
               "What needs no kernel works: values laid out on the host in the GPU's order of strides, and copied", said.text);
    if (e) e->code = said.code;
    return -1;
}

/* The kernel, with the context current: PTX is compiled by the driver for the GPU at hand
 * on first use, and kept in its own cache on disk. */
static CUfunction kernel(gb_cu_device *d, int way, int word, gb_cuda_error *e) {
    static const char *const names[] = {"gb_copy_%d", "gb_copy_far_%d", "gb_fill_%d", "gb_transpose_%d"};
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
    gb_cu_leave();
    return bad;
}

int gb_cu_launch(gb_cu_device *d, int way, int word, gb_kernel_job *job, gb_cuda_stream stream, gb_cuda_error *e) {
    CUfunction function = kernel(d, way, word, e);
    if (!function) return -1;
    int64_t blocks = way == GB_CU_TRANSPOSE ? job->count : (job->count + THREADS - 1) / THREADS;
    if (way != GB_CU_TRANSPOSE && blocks > MOST_BLOCKS) blocks = MOST_BLOCKS;
    return GB_CU(e, cuLaunchKernel, function, (unsigned)blocks, 1, 1, way == GB_CU_TRANSPOSE ? GB_TILE : THREADS, way == GB_CU_TRANSPOSE ? GB_TILE_ROWS : 1,
                 1, 0, ON(stream), (void *[]){job}, NULL);
}

/* ---- axes ---- */

static void swap(gb_kernel_job *j, int a, int b) {
#define SWAP(array) { long long t = j->array[a]; j->array[a] = j->array[b]; j->array[b] = t; }
    SWAP(shape) SWAP(dst_strides) SWAP(src_strides)
}

static void drop(gb_kernel_job *j, int a) {
    for (j->ndim--; a < j->ndim; a++) swap(j, a, a + 1);
}

static void turn_and_sort(gb_kernel_job *j) {
    for (int a = 0; a < j->ndim; a++) {
        if (j->dst_strides[a] < 0) {
            j->dst += (gb_word)((j->shape[a] - 1) * j->dst_strides[a]);
            j->src += (gb_word)((j->shape[a] - 1) * j->src_strides[a]);
            j->dst_strides[a] = -j->dst_strides[a];
            j->src_strides[a] = -j->src_strides[a];
        }
        for (int b = a; b > 0 && j->dst_strides[b - 1] > j->dst_strides[b]; b--) swap(j, b - 1, b);
    }
    for (int a = 0; a + 1 < j->ndim;) {
        if (j->dst_strides[a + 1] == j->shape[a] * j->dst_strides[a] && j->src_strides[a + 1] == j->shape[a] * j->src_strides[a]) {
            j->shape[a] *= j->shape[a + 1];
            drop(j, a + 1);
        } else {
            a++;
        }
    }
}

/* The axes of a job: 1 nothing to move, 0, or -1. The first is the element's bytes. */
int gb_cu_prepare(gb_kernel_job *j, const gb_cuda_view *dst, const gb_cuda_view *src, const int64_t *shape, int ndim, int itemsize,
                   gb_cuda_error *e) {
    memset(j, 0, sizeof *j);
    if (ndim < 0 || ndim > GB_CUDA_AXES || itemsize < 1)
        return gb_cu_fail(e, GB_CUDA_ARGUMENT, "%d axes of elements of %d bytes: at most %d axes", ndim, itemsize, GB_CUDA_AXES);
    j->dst = dst->data;
    j->src = src ? src->data : dst->data;   /* a fill reads nothing: let it not stand in the way of merging */
    j->count = 1;
    j->ndim = 1;
    j->shape[0] = itemsize;
    j->dst_strides[0] = j->src_strides[0] = 1;
    for (int a = 0; a < ndim; a++) {
        if (shape[a] < 0) return gb_cu_fail(e, GB_CUDA_ARGUMENT, "shape[%d] is %lld", a, (long long)shape[a]);
        if (shape[a] > 1 && llabs(dst->strides[a]) < itemsize)
            return gb_cu_fail(e, GB_CUDA_ARGUMENT, "the destination's elements overlap: stride %lld along index %d", (long long)dst->strides[a], a);
        j->count *= shape[a];
        if (shape[a] == 1) continue;
        j->shape[j->ndim] = shape[a];
        j->dst_strides[j->ndim] = dst->strides[a];
        j->src_strides[j->ndim++] = src ? src->strides[a] : dst->strides[a];
    }
    if (j->count == 0) return 1;
    turn_and_sort(j);
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
