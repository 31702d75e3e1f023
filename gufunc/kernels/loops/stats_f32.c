/* stats_f32.c: row statistics of floats. */
#include "headers.h"
#define TYPED(name) gb_gu_k_##name##_f32_base
#define REAL float
#define WORD int32_t
#define VECTOR 16
#define ITEM(p) (*(const REAL *)(p))
#include "stats_body.h"
