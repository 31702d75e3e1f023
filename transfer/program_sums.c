/* program_sums.c: the loops that add, for halos that return to the points they came from. */
#include "casts.h"
#include "program.h"

/* Element by element in the order of memory: what is added is little beside what is copied. */
#define SUMS(name, T, ADD)                                                    \
    static void name(const gb_program_entry *e, char *dst, const char *src) { \
        const gb_copy_axis b = e->axis[e->n - 2], a = e->axis[e->n - 1];      \
        int negative = e->mode & GB_PROGRAM_SIGN;                             \
        for (int64_t j = 0; j < b.n; j++, dst += b.dst, src += b.src)         \
            for (int64_t i = 0; i < a.n; i++) {                               \
                T x, y;                                                       \
                memcpy(&x, dst + i * a.dst, sizeof x);                        \
                memcpy(&y, src + i * a.src, sizeof y);                        \
                (void)negative;                                               \
                x = ADD;                                                      \
                memcpy(dst + i * a.dst, &x, sizeof x);                        \
            }                                                                 \
    }

/* Halves are added as floats: the sum of two is rounded once more, and 24 bits are enough for that
 * to be the rounded sum. */
static uint16_t half_sum(uint16_t x, uint16_t y) {
    return float_to_half(half_to_float(x) + half_to_float(y));
}

SUMS(sum_bool, uint8_t, (uint8_t)((x | y) != 0))
SUMS(sum_8, uint8_t, (uint8_t)(negative ? x - y : x + y))
SUMS(sum_16, uint16_t, (uint16_t)(negative ? x - y : x + y))
SUMS(sum_32, uint32_t, negative ? x - y : x + y)
SUMS(sum_64, uint64_t, negative ? x - y : x + y)
SUMS(sum_half, uint16_t, half_sum(x, negative ? y ^ 0x8000 : y))
SUMS(sum_float, float, negative ? x - y : x + y)
SUMS(sum_double, double, negative ? x - y : x + y)
SUMS(sum_long_double, long double, negative ? x - y : x + y)

gb_program_loop gb_program_sums(int type) {
    switch (type) {
    case GB_BOOL: return sum_bool;
    case GB_I8:
    case GB_U8: return sum_8;
    case GB_I16:
    case GB_U16: return sum_16;
    case GB_I32:
    case GB_U32: return sum_32;
    case GB_I64:
    case GB_U64: return sum_64;
    case GB_F16: return sum_half;
    case GB_F32: return sum_float;
    case GB_F64: return sum_double;
    case GB_LONGDOUBLE: return sum_long_double;
    }
    return NULL;
}
