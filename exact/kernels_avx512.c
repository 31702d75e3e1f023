/* kernels_avx512.c: the kernels for x86-64 with AVX-512. */
#if defined(__x86_64__)
#include "../alloc/system.h"
GB_TARGET("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")
#include <immintrin.h>
#define MAX(a, b) ((vec)_mm512_max_pd((__m512d)(a), (__m512d)(b)))
#define FMA(a, b, c) ((vec)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define GB_VECTOR 64
#define GB_KERNELS gb_exact_kernels_avx512
#include "kernels_body.h"
GB_TARGET_END
#endif
