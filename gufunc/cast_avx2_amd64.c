/* cast_avx2_amd64.c: conversions to floats, for AVX2 and F16C. Those to integers stay as
 * they are: a vector of numbers that do not fit would raise other flags than one does. */
#pragma GCC optimize("O3")
#pragma GCC target("avx2,f16c")
#include "cast_body.h"

FROM_ALL(f16, f16, PLAIN)
FROM_ALL(f32, float, PLAIN)
FROM_ALL(f64, double, PLAIN)

const cast_loop gb_casts_avx2[GT_LONGDOUBLE + 1][GT_LONGDOUBLE + 1] = {
    [GT_F16] = ROW(f16), [GT_F32] = ROW(f32), [GT_F64] = ROW(f64),
};
