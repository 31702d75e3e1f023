/* cast_body.h: the conversion loops of one instruction set. They convert as C does: a value that
 * does not fit raises a floating-point flag, unlike transfer/casts.h, which is for dense rows.
 * Loads and stores go through memcpy, for any alignment. */
#include "types.h"

/* A bool in memory is a byte that is 0 or 1. */
typedef uint8_t T_BOOL;
typedef int8_t T_I8;
typedef uint8_t T_U8;
typedef int16_t T_I16;
typedef uint16_t T_U16;
typedef int32_t T_I32;
typedef uint32_t T_U32;
typedef int64_t T_I64;
typedef uint64_t T_U64;
typedef _Float16 T_F16;
typedef float T_F32;
typedef double T_F64;
typedef long double T_LONGDOUBLE;

/* Every half is a float. With F16C that step is one instruction, which the compiler does
 * not see in a conversion to anything wider: the empty asm keeps the steps apart. */
static inline float single(T_F16 v) {
    float f = (float)v;
#ifdef __F16C__
    __asm__("" : "+x"(f));
#endif
    return f;
}
#define VALUE(D, v)                                                             \
    _Generic((v),                                                               \
        T_F16: sizeof(T_##D) > sizeof(float) ? single((T_F16)(v)) : (float)(v), \
        default: (v))
#define CONVERT(D, v) (GB_##D == GB_BOOL ? (T_##D)(VALUE(D, v) != 0) : (T_##D)VALUE(D, v))

/* Where clang and zig convert to halves by integer code of their own, nothing says that a number
 * was too large. Processors do, whose instructions take floats: CASTS_TO_HALF says which sources
 * have such an instruction. */
#if defined(__clang__) && defined(__x86_64__)
#ifndef CASTS_TO_HALF
#define CASTS_TO_HALF(S) 0
#endif
static inline void tell_overflow(double from, T_F16 to) {
    volatile double largest = 0x1.fffffffffffffp1023;
    if (__builtin_isinf(to) && !__builtin_isinf(from)) largest += largest;
}
#define TELL(D, S, v, w)                                                \
    if (GB_##D == GB_F16 && GB_##S != GB_F16 && !CASTS_TO_HALF(GB_##S)) \
    tell_overflow((double)(v), (T_F16)(w))
#else
#define TELL(D, S, v, w)
#endif

/* The first loop is for packed memory: the compiler makes vector code of it. */
#define CAST(D, S, ...)                                                                        \
    static void D##_from_##S(char *dst, intptr_t dst_step, const char *src, intptr_t src_step, \
                             int64_t n) {                                                      \
        T_##S v;                                                                               \
        T_##D w;                                                                               \
        if (dst_step == sizeof w && src_step == sizeof v) {                                    \
            for (int64_t i = 0; i < n; i++) {                                                  \
                memcpy(&v, src + i * (intptr_t)sizeof v, sizeof v);                            \
                w = CONVERT(D, v);                                                             \
                TELL(D, S, v, w);                                                              \
                memcpy(dst + i * (intptr_t)sizeof w, &w, sizeof w);                            \
            }                                                                                  \
            return;                                                                            \
        }                                                                                      \
        for (int64_t i = 0; i < n; i++, dst += dst_step, src += src_step) {                    \
            memcpy(&v, src, sizeof v);                                                         \
            w = CONVERT(D, v);                                                                 \
            TELL(D, S, v, w);                                                                  \
            memcpy(dst, &w, sizeof w);                                                         \
        }                                                                                      \
    }
#define FROM_ALL(D) GB_EACH_REAL(CAST, D) CAST(D, LONGDOUBLE)

#define ENTRY(D, S, ...) [GB_##S] = D##_from_##S,
#define ROW(D) [GB_##D] = {GB_EACH_REAL(ENTRY, D) ENTRY(D, LONGDOUBLE)}

/* ROW of each. */
#define EACH_REAL() GB_EACH_REAL
#define ROW_LATER(with, D, ...) [GB_##D] = {EACH_REAL GB_LATER()()(ENTRY, D)ENTRY(D, LONGDOUBLE)},
#define ALL_ROWS GB_AGAIN(GB_EACH_REAL(ROW_LATER, )) ROW(LONGDOUBLE)
