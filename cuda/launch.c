/* launch.c: the kernels: PTX that the driver compiles for the GPU at hand on first use. */
#include "launch.h"

#include <pthread.h>

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
#define PROGRAM_BLOCKS (1 << 13) /* each finds its entries once: more would search more */
#define ON(stream) ((CUstream)(uintptr_t)(stream))

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* What a driver says that cannot compile our PTX, now or ever. */
static int takes_none(int code) {
    static const int codes[] = {
        200, 209, 218, 221,
        222, 223}; /* invalid image, no binary, invalid PTX, no compiler, too new, switched off */
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] == code) return 1;
    return 0;
}

static int load(gb_cu_device *d, gb_cuda_error *e) {
    gb_cuda_error said = {0};
    CUmodule loaded = NULL;
    int bad = GB_CU(&said, cuModuleLoadData, &loaded, gb_cu_ptx);
    if (!bad) return __atomic_store_n(&d->kernels, loaded, __ATOMIC_RELEASE), 0;
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

/* The kernel, with the context current: PTX is compiled by the driver for the GPU at hand
 * on first use, and kept in its own cache on disk. */
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

int gb_cu_launch(gb_cu_device *d, int way, int word, gb_kernel_job *job, gb_cuda_stream stream,
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
