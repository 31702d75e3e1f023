/* stats_f64.c: row statistics of doubles. */
#include "headers.h"
#define TYPED(name) gb_gu_k_##name##_f64_base
#define REAL double
#define WORD int64_t
#define VECTOR 16
#define ITEM(p) (*(const REAL *)(p))
#include "stats_body.h"
