/* kernels_plain.c: the kernels for whatever the compiler's baseline is: SSE2 on x86-64, NEON on
 * arm64. */
#if defined(__x86_64__)
#define GB_COPY_VECTOR 16
#define GB_COPY_NAME "sse2"
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define GB_COPY_VECTOR 16
#define GB_COPY_NAME "neon"
#else
#define GB_COPY_VECTOR 0
#define GB_COPY_NAME "plain"
#endif
#define GB_COPY_KERNELS gb_copy_kernels_plain
#define GB_COPY_TRANSPOSES gb_copy_transposes_plain
#define GB_COPY_CASTS gb_copy_casts_plain
#define GB_COPY_DEFINES_CASTS
#include "transpose_body.h"
#include "kernels_body.h"
