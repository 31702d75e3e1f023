/* kernels_plain.c: the kernels for whatever the compiler's baseline is: SSE2 on x86-64, NEON on arm64. */
#if defined(__x86_64__)
#define GB_VECTOR 16
#define GB_NAME "sse2"
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define GB_VECTOR 16
#define GB_NAME "neon"
#else
#define GB_VECTOR 0
#define GB_NAME "plain"
#endif
#define GB_KERNELS gb_copy_kernels_plain
#define GB_TRANSPOSES gb_copy_transposes_plain
#include "transpose_body.h"
#include "kernels_body.h"
