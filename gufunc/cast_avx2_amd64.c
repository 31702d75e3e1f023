/* cast_avx2_amd64.c: conversions to floats, for AVX2 and F16C. Those to integers stay as
 * they are: a vector of numbers that do not fit would raise other flags than one does. */
#include "../alloc/system.h"
#include "types.h"

#ifndef __clang__
#pragma GCC optimize("O3")
#endif
GB_TARGET("avx2,f16c")
#define CASTS_TO_HALF(S) ((S) != GB_F64 && (S) != GB_LONGDOUBLE)
#include "cast_body.h"

FROM_ALL(F16)
FROM_ALL(F32)
FROM_ALL(F64)

const gb_gu_cast_loop gb_gu_casts_avx2[GB_REALS][GB_REALS] = {ROW(F16), ROW(F32), ROW(F64)};
GB_TARGET_END
