/* f32_base.c: the loops of float32 for every machine. */
#include "headers.h"
#pragma GCC optimize("no-math-errno", "O2")   /* few machines come here: small rather than fast */
#define ISA(name) gb_k_##name##_f32_base
#define REAL float
#define WORD int32_t
#define LANE_BYTES 16
#define SQRT __builtin_sqrtf
#define FABS __builtin_fabsf
#define UNROLL 0
#include "family_body.h"
