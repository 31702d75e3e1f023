/* kernels_avx2.c: the kernels for x86-64 with AVX2 and FMA. */
#if defined(__x86_64__)
#include "../alloc/system.h"
GB_TARGET("avx2,fma")
#include <immintrin.h>
#define MAX(a, b) ((vec)_mm256_max_pd((__m256d)(a), (__m256d)(b)))
#define FMA(a, b, c) ((vec)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define GB_VECTOR 32
#define GB_KERNELS gb_exact_kernels_avx2
#include "kernels_body.h"
GB_TARGET_END
#endif
