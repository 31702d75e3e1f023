/* superaccumulator.c: single numbers into the wide integer (R. M. Neal, "Fast exact summation using
 * small and large superaccumulators", arXiv 1505.05571: the small one, widened for products). */
#include "exact.h"

#include <string.h>

typedef unsigned __int128 wide;

/* value * 2^(at - GB_EXACT_BIAS) */
static inline void put(gb_exact *sum, wide value, int at, int negative) {
    int64_t *chunk = &sum->chunk[at / 32];
    for (; value; value >>= 32, chunk++) {
        int64_t part = (int64_t)(uint32_t)value;
        *chunk += negative ? -part : part;
    }
}

static inline int exponent_of(uint64_t bits) { return (int)(bits >> 52 & 0x7ff); }

/* A finite double as integer * 2^(exponent - 1075). */
static inline uint64_t integer_of(uint64_t bits, int *exponent) {
    uint64_t mantissa = bits & (((uint64_t)1 << 52) - 1);
    *exponent = exponent_of(bits);
    if (*exponent) return mantissa | (uint64_t)1 << 52;
    *exponent = 1;
    return mantissa;
}

static void put_special(gb_exact *sum, double x, int negative) {
    if (x != x) sum->nans++;
    else if ((x < 0) == !negative) sum->negative_infinities++;
    else sum->infinities++;
}

void gb_exact_add(gb_exact *sum, double x, int negative) {
    uint64_t bits;
    int e;
    memcpy(&bits, &x, 8);
    if (exponent_of(bits) == 0x7ff) {
        put_special(sum, x, negative);
        return;
    }
    uint64_t m = integer_of(bits, &e);
    int at = e - 1075 + GB_EXACT_BIAS;
    put(sum, (wide)m << at % 32, at, (int)(bits >> 63) ^ !!negative);
}

void gb_exact_add_product(gb_exact *sum, double x, double y, int negative) {
    uint64_t bits[2];
    int ex, ey;
    memcpy(&bits[0], &x, 8);
    memcpy(&bits[1], &y, 8);
    if (exponent_of(bits[0]) == 0x7ff || exponent_of(bits[1]) == 0x7ff) {
        put_special(sum, x * y, negative);
        return;
    }
    uint64_t mx = integer_of(bits[0], &ex), my = integer_of(bits[1], &ey);
    wide product = (wide)mx * my;
    int at = ex + ey - 2150 + GB_EXACT_BIAS,
        minus = (int)(bits[0] >> 63 ^ bits[1] >> 63) ^ !!negative;
    put(sum, (wide)(uint64_t)product << at % 32, at, minus);
    put(sum, (wide)(uint64_t)(product >> 64) << at % 32, at + 64, minus);
}

void gb_exact_add_integer(gb_exact *sum, uint64_t high, uint64_t low, int negative) {
    put(sum, (wide)high << 64 | low, GB_EXACT_BIAS, negative);
}

void gb_exact_carry(gb_exact *sum) {
    int64_t carry = 0;
    for (int i = 0; i < GB_EXACT_CHUNKS - 1; i++) {
        int64_t v = sum->chunk[i] + carry;
        sum->chunk[i] = (int64_t)(uint32_t)v;
        carry = (v - sum->chunk[i]) / ((int64_t)1 << 32);
    }
    sum->chunk[GB_EXACT_CHUNKS - 1] += carry;
}

void gb_exact_merge(gb_exact *sum, const gb_exact *other) {
    for (int i = 0; i < GB_EXACT_CHUNKS; i++) sum->chunk[i] += other->chunk[i];
    sum->nans += other->nans;
    sum->infinities += other->infinities;
    sum->negative_infinities += other->negative_infinities;
    gb_exact_carry(sum);
}
