/* stats_f32_avx2_amd64.c: row statistics of floats for AVX2; without FMA, so that results are those of every machine. */
#include "headers.h"
#pragma GCC target("avx2")
#define TYPED(name) gb_k_##name##_f32_avx2
#define REAL float
#define WORD int32_t
#define VECTOR 32
#define ITEM(p) (*(const REAL *)(p))
#include "stats_body.h"
