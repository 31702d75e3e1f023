/* real.h: the element type and the instruction set of a file of loops. A file defines SINGLE for
 * float32, and AVX2 as the names of its instruction set, before it includes this; without them the
 * loops are for float64 and for every machine. System headers come before the instruction set, so
 * that their inline functions are compiled without it. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "../../../../alloc/system.h"
#include "table.h"

#ifdef SINGLE
#define REAL float
#define WORD int32_t
#define SQRT __builtin_sqrtf
#define FABS __builtin_fabsf
#define NAMED(name, set) gb_gu_k_##name##_f32_##set
#else
#define REAL double
#define WORD int64_t
#define SQRT __builtin_sqrt
#define FABS __builtin_fabs
#define NAMED(name, set) gb_gu_k_##name##_f64_##set
#endif

#ifdef AVX2
GB_TARGET(AVX2)
#define ISA(name) NAMED(name, avx2)
#define LANE_BYTES 32
#define UNROLL 1
#else
#define ISA(name) NAMED(name, base)
#define LANE_BYTES 16
#ifdef __x86_64__
#define UNROLL 0 /* for processors without AVX2, of before 2013: short code */
#else
#define UNROLL 1 /* NEON */
#endif
#endif

#define ITEM(p) (*(const REAL *)(p))
