/* stats_f32_avx2_amd64.c: row statistics of float32 for AVX2, without FMA: the same bits on every
 * machine. */
#define SINGLE
#define AVX2 "avx2"
#include "real.h"

#include "stats_body.h"
GB_TARGET_END
