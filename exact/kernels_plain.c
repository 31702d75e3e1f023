/* kernels_plain.c: the kernels for whatever the compiler's baseline is: SSE2 on x86-64, NEON on
 * arm64. */
#if defined(__x86_64__)
#include <immintrin.h>
#define MAX(a, b) ((vec)_mm_max_pd((__m128d)(a), (__m128d)(b)))
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#define MAX(a, b) ((vec)vmaxq_f64((float64x2_t)(a), (float64x2_t)(b)))
#define FMA(a, b, c) ((vec)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#else
#define MAX(a, b) greater(a, b)
#endif
#define GB_VECTOR 16
#define GB_KERNELS gb_exact_kernels_plain
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <stdint.h>
typedef double pair __attribute__((vector_size(16)));
static inline pair greater(pair a, pair b) {
    return (pair){a[0] > b[0] ? a[0] : b[0], a[1] > b[1] ? a[1] : b[1]};
}
#endif
#include "kernels_body.h"
