/* cast_base.c: every conversion, for any machine. */
#include "cast_body.h"

/* -O2 alone makes no vectors of loops whose length is not known. */
#pragma GCC push_options
#pragma GCC optimize("O3")
FROM_ALL(i64, int64_t, PLAIN)
FROM_ALL(f32, float, PLAIN)
FROM_ALL(f64, double, PLAIN)
#pragma GCC pop_options

/* The types that kernels rarely have: without vector code. */
FROM_ALL(bool, uint8_t, TRUTH)
FROM_ALL(i8, int8_t, PLAIN)
FROM_ALL(u8, uint8_t, PLAIN)
FROM_ALL(i16, int16_t, PLAIN)
FROM_ALL(u16, uint16_t, PLAIN)
FROM_ALL(i32, int32_t, PLAIN)
FROM_ALL(u32, uint32_t, PLAIN)
FROM_ALL(u64, uint64_t, PLAIN)
FROM_ALL(f16, f16, PLAIN)
FROM_ALL(ld, ld, PLAIN)

const cast_loop gb_casts_base[GT_LONGDOUBLE + 1][GT_LONGDOUBLE + 1] = {
    [GT_BOOL] = ROW(bool), [GT_I8] = ROW(i8), [GT_U8] = ROW(u8), [GT_I16] = ROW(i16), [GT_U16] = ROW(u16),
    [GT_I32] = ROW(i32), [GT_U32] = ROW(u32), [GT_I64] = ROW(i64), [GT_U64] = ROW(u64), [GT_F16] = ROW(f16),
    [GT_F32] = ROW(f32), [GT_F64] = ROW(f64), [GT_LONGDOUBLE] = ROW(ld),
};
