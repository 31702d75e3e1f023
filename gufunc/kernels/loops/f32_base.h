/* f32_base.h: what makes loops those of float32 for every machine. */
#include "headers.h"
#ifdef __clang__
#pragma clang fp contract(fast)   /* as gcc does where the processor has fused instructions */
#elif defined(__x86_64__)
#pragma GCC optimize("no-math-errno", "O2")   /* x86 of the last ten years has AVX2 and never comes here: small rather than fast */
#else
#pragma GCC optimize("no-math-errno")
#endif
#define ISA(name) gb_gu_k_##name##_f32_base
#define REAL float
#define WORD int32_t
#define LANE_BYTES 16
#define SQRT __builtin_sqrtf
#define FABS __builtin_fabsf
#ifdef __x86_64__
#define UNROLL 0
#else
#define UNROLL 1   /* NEON: this is the set that runs there */
#endif
