/* kernels.c: modules, and launches of our own kernels: the source that was made into PTX,
 * compiled for the host. The threads of a block take turns between two barriers. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned x, y, z;
} three;
static three threadIdx, blockIdx, blockDim, gridDim;

typedef unsigned char gb_u1;
typedef unsigned short gb_u2;
typedef unsigned gb_u4;
typedef unsigned long long gb_u8;
typedef struct {
    unsigned long long x, y;
} __attribute__((aligned(16))) gb_u16;

static void *checked(unsigned long long address, size_t bytes) {
    if (address % bytes) abort(); /* misaligned: the device would stop */
    return fake_at(address, bytes, "a kernel");
}
#define KERNEL static void
#define EACH_THREAD                                                \
    for (threadIdx.y = 0; threadIdx.y < blockDim.y; threadIdx.y++) \
        for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
#define BARRIER
#define SHARED static
#define AT(T, address) (*(T *)checked((address), sizeof(T)))
#define ENTRY(number)                                                                            \
    ((const gb_kernel_entry *)fake_at(job.entries + (gb_word)(number) * sizeof(gb_kernel_entry), \
                                      sizeof(gb_kernel_entry), "a kernel"))
static gb_u2 half_sum(gb_u2 x, gb_u2 y) {
    _Float16 a, b;
    memcpy(&a, &x, 2);
    memcpy(&b, &y, 2);
    a += b;
    memcpy(&x, &a, 2);
    return x;
}
#define ONE_BY_ONE
#include "../kernels.h"

typedef struct named_kernel {
    const char *name;
    void (*kernel)(gb_kernel_job); /* NULL: a program */
    int64_t launched;
} named_kernel;

static named_kernel kernels[] = {
#define NAMES(n)                                                              \
    {"gb_copy_" #n, gb_copy_##n, 0}, {"gb_copy_far_" #n, gb_copy_far_##n, 0}, \
        {"gb_fill_" #n, gb_fill_##n, 0}, {"gb_transpose_" #n, gb_transpose_##n, 0},
    NAMES(1) NAMES(2) NAMES(4) NAMES(8) NAMES(16){"gb_program_1", NULL, 0},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

EXPORT int64_t fake_launched(const char *name) {
    for (int i = 0; i < KERNELS; i++)
        if (strcmp(kernels[i].name, name) == 0) return kernels[i].launched;
    return -1;
}

/* A function belongs to the context that its module was loaded in. */
struct CUfunc_st {
    fake_context *context;
    named_kernel *is;
};
struct CUmod_st {
    fake_context *context;
    char *text;
    struct CUfunc_st functions[KERNELS];
};

static char *last_text;
EXPORT const char *fake_module(void) { return last_text; } /* the PTX that was loaded last */

EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    BEGIN_WITHIN(cuModuleLoadData, context)
    if (fake.refuse) END(fake.refuse);
    if (strncmp(image, ".version", 8) != 0) END(218); /* CUDA_ERROR_INVALID_PTX */
    *module = calloc(1, sizeof **module);
    (*module)->context = context;
    (*module)->text = last_text = strdup(image);
    for (int i = 0; i < KERNELS; i++)
        (*module)->functions[i] = (struct CUfunc_st){context, &kernels[i]};
    END(CUDA_SUCCESS);
}

EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    BEGIN_WITHIN(cuModuleGetFunction, context)
    if (module->context != context) {
        fake_misuse("a module of another context");
        END(400);
    }
    char entry[64] = ".entry ";
    strncat(strncat(entry, name, 48), "(", 2);
    for (int i = 0; i < KERNELS; i++)
        if (strcmp(kernels[i].name, name) == 0 && strstr(module->text, entry)) {
            *function = &module->functions[i];
            END(CUDA_SUCCESS);
        }
    END(CUDA_ERROR_NOT_FOUND);
}

static void launch(fake_work *w) {
    blockDim = (three){w->block[0], w->block[1], w->block[2]};
    gridDim = (three){w->grid[0], w->grid[1], w->grid[2]};
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
        if (w->program) gb_program_1(*(gb_kernel_program *)w->parameters);
        else ((named_kernel *)w->kernel)->kernel(*(gb_kernel_job *)w->parameters);
    }
}

EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                               unsigned grid_z, unsigned block_x, unsigned block_y,
                               unsigned block_z, unsigned shared, CUstream stream,
                               void **parameters, void **extra) {
    BEGIN_WITHIN(cuLaunchKernel, context)
    fake_stream *s = fake_resolve(stream, context);
    if (!s) END(400);
    if (function->context != context) {
        fake_misuse("a launch on GPU %d of a function of GPU %d", context->device,
                    function->context->device);
        END(400);
    }
    if (!grid_x || grid_x > 0x7fffffff || grid_y != 1 || grid_z != 1 || !block_x ||
        block_x * block_y * block_z > 1024 || shared || extra)
        END(CUDA_ERROR_INVALID_VALUE);
    function->is->launched++;
    fake_work *w = fake_new_work(s, launch);
    w->kernel = function->is;
    w->bytes = (size_t)atoi(strrchr(function->is->name, '_') + 1); /* of a word */
    w->program = !function->is->kernel;
    w->look = fake_at;
    size_t bytes = w->program ? sizeof(gb_kernel_program) : sizeof(gb_kernel_job);
    w->parameters = malloc(bytes);
    memcpy(w->parameters, parameters[0], bytes);
    w->grid[0] = grid_x, w->grid[1] = w->grid[2] = 1;
    w->block[0] = block_x, w->block[1] = block_y, w->block[2] = block_z;
    END(fake_submit(w));
}
