/* stats_f32.c: row statistics of floats. */
#include "headers.h"
#define TYPED(name) gb_k_##name##_f32
#define REAL float
#define ITEM(p) (*(const REAL *)(p))
#include "stats_body.h"
