/* casts.h: conversions between element types with the values of NumPy's astype: C's conversions,
 * with bool as "not zero", complex to real by dropping the imaginary part, and float16 rounded
 * once, to nearest even. A float that no integer of the target can hold (and NaN) gives what the
 * processor gives, as in NumPy; the value is not defined. */
#pragma once

#include "../alloc/elements.h"

#include <string.h>

/* Arrays need not be aligned. */
#define ANYWHERE __attribute__((aligned(1), may_alias))
typedef uint8_t T_BOOL ANYWHERE;
typedef int8_t T_I8 ANYWHERE;
typedef int16_t T_I16 ANYWHERE;
typedef int32_t T_I32 ANYWHERE;
typedef int64_t T_I64 ANYWHERE;
typedef uint8_t T_U8 ANYWHERE;
typedef uint16_t T_U16 ANYWHERE;
typedef uint32_t T_U32 ANYWHERE;
typedef uint64_t T_U64 ANYWHERE;
typedef uint16_t T_F16 ANYWHERE;
typedef float T_F32 ANYWHERE;
typedef double T_F64 ANYWHERE;
typedef struct ANYWHERE {
    T_F32 re, im;
} T_C64;
typedef struct ANYWHERE {
    T_F64 re, im;
} T_C128;

static inline float as_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* Written without branches so that the compiler makes vectors of it. A subnormal half is made
 * normal by an addition whose rounding is the rounding wanted. */
static inline float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = (uint32_t)(h & 0x7fff) << 13;
    float small = as_float(magnitude + (113u << 23)) - as_float(113u << 23);
    uint32_t small_bits;
    memcpy(&small_bits, &small, 4);
    uint32_t normal = magnitude + (112u << 23);
    uint32_t special = magnitude | 0x7f800000u;
    uint32_t bits = magnitude < 0x0400u << 13   ? small_bits
                    : magnitude < 0x7c00u << 13 ? normal
                                                : special;
    return as_float(bits | sign);
}

static inline uint16_t float_to_half(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    float shifted =
        as_float(magnitude) + 0.5f; /* one unit in the last place of 0.5 is the smallest half */
    uint32_t small;
    memcpy(&small, &shifted, 4);
    small -= 0x3f000000u;
    uint32_t normal = (magnitude - 0x38000000u + 0xfff + (magnitude >> 13 & 1)) >> 13;
    uint32_t special = magnitude > 0x7f800000u ? 0x7e00 : 0x7c00;
    uint32_t half = magnitude < 0x38800000u ? small : magnitude < 0x47800000u ? normal : special;
    return (uint16_t)(half | sign);
}

static inline uint16_t double_to_half(double f) {
    uint64_t bits;
    memcpy(&bits, &f, 8);
    uint64_t sign = bits >> 48 & 0x8000, magnitude = bits & INT64_MAX;
    double value;
    memcpy(&value, &magnitude, 8);
    double shifted = value + 268435456.0; /* 2^28: its last place is the smallest half */
    uint64_t small;
    memcpy(&small, &shifted, 8);
    small -= 0x41b0000000000000u;
    uint64_t normal =
        (magnitude - 0x3f00000000000000u + 0x1ffffffffffu + (magnitude >> 42 & 1)) >> 42;
    uint64_t special = magnitude > 0x7ff0000000000000u ? 0x7e00 : 0x7c00;
    uint64_t half = magnitude < 0x3f10000000000000u   ? small
                    : magnitude < 0x40f0000000000000u ? normal
                                                      : special;
    return (uint16_t)(half | sign);
}

/* Reading: the value, whether it is zero, the imaginary part; in which of four ways is a type's
 * own. Integers become float16 by way of float, as in NumPy. */
#define AS_BOOL BIT
#define AS_I8 NUMBER
#define AS_I16 NUMBER
#define AS_I32 NUMBER
#define AS_I64 NUMBER
#define AS_U8 NUMBER
#define AS_U16 NUMBER
#define AS_U32 NUMBER
#define AS_U64 NUMBER
#define AS_F16 HALF
#define AS_F32 NUMBER
#define AS_F64 NUMBER
#define AS_C64 PAIR
#define AS_C128 PAIR
#define BY_(what, way) what##_##way
#define BY(what, way) BY_(what, way)
#define REAL_BIT(x) ((uint8_t)((x) != 0))
#define REAL_NUMBER(x) (x)
#define REAL_HALF(x) half_to_float(x)
#define REAL_PAIR(x) (x).re
#define TRUE_BIT(x) ((x) != 0)
#define TRUE_NUMBER TRUE_BIT
#define TRUE_HALF(x) (((x) & 0x7fff) != 0)
#define TRUE_PAIR(x) (((x).re != 0) | ((x).im != 0))
#define IMAG_BIT(x) 0
#define IMAG_NUMBER IMAG_BIT
#define IMAG_HALF IMAG_BIT
#define IMAG_PAIR(x) (x).im
#define REAL(S, x) BY(REAL, AS_##S)(x)
#define TRUE(S, x) BY(TRUE, AS_##S)(x)
#define IMAG(S, x) BY(IMAG, AS_##S)(x)

/* Writing to a d, which has its type. */
#define PUT_BIT(d, S, x) d = TRUE(S, x)
#define PUT_NUMBER(d, S, x) d = (__typeof__(d))REAL(S, x)
#define PUT_HALF(d, S, x)                                                          \
    d = GB_##S == GB_F64 || GB_##S == GB_C128 ? double_to_half((double)REAL(S, x)) \
                                              : float_to_half((float)REAL(S, x))
#define PUT_PAIR(d, S, x) d.re = (__typeof__(d.re))REAL(S, x), d.im = (__typeof__(d.im))IMAG(S, x)

#define DEFINE_CAST(D, S, ...)                                                          \
    static void D##_from_##S(void *restrict to, const void *restrict from, int64_t n) { \
        T_##D *restrict d = to;                                                         \
        const T_##S *restrict s = from;                                                 \
        for (int64_t i = 0; i < n; i++) BY(PUT, AS_##D)(d[i], S, s[i]);                 \
    }
#define CAST_ENTRY(D, S, ...) [GB_##D][GB_##S] = GB_##D == GB_##S ? NULL : D##_from_##S,

/* X(D, S, ...) for every pair of numbers. */
#define EACH_NUMBER() GB_EACH_NUMBER
#define FROM_EACH(X, D, ...) EACH_NUMBER GB_LATER()()(X, D)
#define EACH_PAIR(X) GB_AGAIN(GB_EACH_NUMBER(FROM_EACH, X))
