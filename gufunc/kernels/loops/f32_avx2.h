/* f32_avx2.h: what makes loops those of float32 for AVX2 and FMA. */
#include "headers.h"
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("no-math-errno")
#pragma GCC target("avx2,fma")
#endif
#define ISA(name) gb_gu_k_##name##_f32_avx2
#define REAL float
#define WORD int32_t
#define LANE_BYTES 32
#define SQRT __builtin_sqrtf
#define FABS __builtin_fabsf
#define UNROLL 1
