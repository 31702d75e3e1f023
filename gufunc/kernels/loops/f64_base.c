/* f64_base.c: the loops of float64 for every machine. */
#include "headers.h"
#pragma GCC optimize("no-math-errno", "O2")   /* few machines come here: small rather than fast */
#define ISA(name) gb_k_##name##_f64_base
#define REAL double
#define WORD int64_t
#define LANE_BYTES 16
#define SQRT __builtin_sqrt
#define FABS __builtin_fabs
#define UNROLL 0
#include "family_body.h"
