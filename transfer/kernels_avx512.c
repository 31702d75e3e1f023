/* kernels_avx512.c: the kernels for x86-64 with AVX-512 (F, BW, DQ, VL). */
#if defined(__x86_64__)
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC target("avx2,avx512f,avx512bw,avx512dq,avx512vl")
#endif
#define GB_VECTOR 64
#define GB_NAME "avx512"
#define GB_KERNELS gb_copy_kernels_avx512
#define GB_TRANSPOSES gb_copy_transposes_avx2   /* wider vectors gain nothing there: the loads set the pace */
#include "kernels_body.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
