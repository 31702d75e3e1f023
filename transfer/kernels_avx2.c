/* kernels_avx2.c: the kernels for x86-64 with AVX2. */
#if defined(__x86_64__)
#include "../alloc/system.h"
GB_TARGET("avx2")
#define GB_COPY_VECTOR 32
#define GB_COPY_NAME "avx2"
#define GB_COPY_KERNELS gb_copy_kernels_avx2
#define GB_COPY_TRANSPOSES gb_copy_transposes_avx2
#define GB_COPY_CASTS gb_copy_casts_avx2
#define GB_COPY_DEFINES_CASTS
#include "transpose_body.h"
#include "kernels_body.h"
GB_TARGET_END
#endif
