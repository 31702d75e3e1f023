/* cast_body.h: the loops that convert, once for each instruction set. They convert as C
 * does: what does not fit raises a floating-point flag. Loads and stores go through
 * memcpy, so alignment is free. */
#include "cast.h"

#include <string.h>

typedef _Float16 f16;
typedef long double ld;

/* The first loop is for packed memory: the compiler makes vector code of it. */
#define CAST(name, to_t, from_t, convert)                                                                         \
    static void name(char *dst, intptr_t dst_step, const char *src, intptr_t src_step, int64_t n) {              \
        from_t v;                                                                                                 \
        to_t w;                                                                                                   \
        if (dst_step == sizeof w && src_step == sizeof v) {                                                       \
            for (int64_t i = 0; i < n; i++) {                                                                     \
                memcpy(&v, src + i * (intptr_t)sizeof v, sizeof v);                                               \
                w = convert(to_t, v);                                                                             \
                memcpy(dst + i * (intptr_t)sizeof w, &w, sizeof w);                                               \
            }                                                                                                     \
            return;                                                                                               \
        }                                                                                                         \
        for (int64_t i = 0; i < n; i++, dst += dst_step, src += src_step) {                                       \
            memcpy(&v, src, sizeof v);                                                                            \
            w = convert(to_t, v);                                                                                 \
            memcpy(dst, &w, sizeof w);                                                                            \
        }                                                                                                         \
    }
#define PLAIN(to_t, v) ((to_t)(v))
#define TRUTH(to_t, v) ((to_t)((v) != 0))
/* Every half is a float. With F16C that step is one instruction, which the compiler does
 * not see in a conversion to anything wider: the empty asm keeps the steps apart. */
static inline float single(f16 v) {
    float f = (float)v;
#ifdef __F16C__
    __asm__("" : "+x"(f));
#endif
    return f;
}
#define PLAIN_HALF(to_t, v) ((to_t)(sizeof(to_t) > sizeof(float) ? single(v) : (float)(v)))
#define TRUTH_HALF(to_t, v) ((to_t)((float)(v) != 0))

#define FROM_ALL(to, to_t, convert)                                                                               \
    CAST(cast_##to##_u8, to_t, uint8_t, convert)                                                                  \
    CAST(cast_##to##_i8, to_t, int8_t, convert)                                                                   \
    CAST(cast_##to##_i16, to_t, int16_t, convert)                                                                 \
    CAST(cast_##to##_u16, to_t, uint16_t, convert)                                                                \
    CAST(cast_##to##_i32, to_t, int32_t, convert)                                                                 \
    CAST(cast_##to##_u32, to_t, uint32_t, convert)                                                                \
    CAST(cast_##to##_i64, to_t, int64_t, convert)                                                                 \
    CAST(cast_##to##_u64, to_t, uint64_t, convert)                                                                \
    CAST(cast_##to##_f16, to_t, f16, convert##_HALF)                                                                \
    CAST(cast_##to##_f32, to_t, float, convert)                                                                   \
    CAST(cast_##to##_f64, to_t, double, convert)                                                                  \
    CAST(cast_##to##_ld, to_t, ld, convert)

/* Indexed by type; a bool in memory is a byte that is 0 or 1. */
#define ROW(to)                                                                                                   \
    {                                                                                                             \
        [GT_BOOL] = cast_##to##_u8, [GT_I8] = cast_##to##_i8, [GT_U8] = cast_##to##_u8, [GT_I16] = cast_##to##_i16, \
        [GT_U16] = cast_##to##_u16, [GT_I32] = cast_##to##_i32, [GT_U32] = cast_##to##_u32, [GT_I64] = cast_##to##_i64, \
        [GT_U64] = cast_##to##_u64, [GT_F16] = cast_##to##_f16, [GT_F32] = cast_##to##_f32, [GT_F64] = cast_##to##_f64, \
        [GT_LONGDOUBLE] = cast_##to##_ld                                                                          \
    }
