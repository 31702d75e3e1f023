/* stats_f64_avx2_amd64.c: row statistics of doubles for AVX2; without FMA, so that results are those of every machine. */
#include "headers.h"
#pragma GCC target("avx2")
#define TYPED(name) gb_k_##name##_f64_avx2
#define REAL double
#define WORD int64_t
#define VECTOR 32
#define ITEM(p) (*(const REAL *)(p))
#include "stats_body.h"
