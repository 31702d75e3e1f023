/* stats_f32_avx2_amd64.c: row statistics of floats for AVX2; without FMA, so that results are those
 * of every machine. */
#include "headers.h"
#include "f32.h"
GB_TARGET("avx2")
#define TYPED(name) NAMED(name, avx2)
#define VECTOR 32
#define STATS_MAX(v, top) ((stats_vec)_mm256_max_ps(v, top))
#define STATS_MIN(v, top) ((stats_vec)_mm256_min_ps(v, top))
#define STATS_NAN(v, w) ((stats_mask)_mm256_cmp_ps(v, w, _CMP_UNORD_Q))
#define STATS_ANY(m) (!_mm256_testz_si256((__m256i)(m), (__m256i)(m)))
#include "stats_body.h"
GB_TARGET_END
