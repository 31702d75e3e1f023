/* kernels_body.h: the kernels, written once; a kernels_*.c includes this with GB_VECTOR (bytes of a
 * vector), MAX(a, b) and FMA(a, b, c) of vectors and GB_KERNELS defined.
 *
 * A level: where |x| <= 2^(p-1), 1.5 * 2^p + x rounds x to a multiple u of 2^(p-52), and what is
 * left of x is below that. Of numbers below 2^m, 2^GB_EXACT_LOG multiples of u add up without an
 * error if p = m + GB_EXACT_LOG. A second level does the same to what the first has left, 42 bits
 * further down.
 */
#include "kernels.h"

#include <string.h>

typedef double vec __attribute__((vector_size(GB_VECTOR)));
typedef int64_t bits __attribute__((vector_size(GB_VECTOR)));
enum { LANES = GB_VECTOR / 8 };

static inline vec load(const double *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

#define MAGNITUDE (((uint64_t)1 << 63) - 1)
static inline vec absolute(vec v) { return (vec)((bits)v & (int64_t)MAGNITUDE); }

static inline double sum_of(vec v) { /* without an error: see above */
    double s = 0;
    for (int i = 0; i < LANES; i++) s += v[i];
    return s;
}

static inline double largest_of(vec v) {
    double m = 0;
    for (int i = 0; i < LANES; i++) m = v[i] > m ? v[i] : m;
    return m;
}

static inline int any(bits v) {
    int64_t x = 0;
    for (int i = 0; i < LANES; i++) x |= v[i];
    return x != 0;
}

/* 2^n; 0 below the normal numbers, where a level takes all there is. */
static inline double power(int n) {
    if (n < -1022) return 0;
    uint64_t x = (uint64_t)(n + 1023) << 52;
    double d;
    memcpy(&d, &x, 8);
    return d;
}

/* p of a first level for numbers of at most this size. */
static inline int level_for(double top) {
    uint64_t x;
    memcpy(&x, &top, 8);
    int m = (int)(x >> 52) - 1022; /* top < 2^m */
    return (m < -1000 ? -1000 : m) + GB_EXACT_LOG;
}
#define DOWN (52 - GB_EXACT_LOG) /* from a level to the next */

#define LARGEST 0x1p1000 /* sums of a block stay finite */

static inline double largest_in(const double *x, int64_t n) {
    vec a = {0}, b = {0}, c = {0}, d = {0};
    for (int64_t i = 0; i < n; i += 4 * LANES) {
        a = MAX(a, absolute(load(x + i)));
        b = MAX(b, absolute(load(x + i + LANES)));
        c = MAX(c, absolute(load(x + i + 2 * LANES)));
        d = MAX(d, absolute(load(x + i + 3 * LANES)));
    }
    return largest_of(MAX(MAX(a, b), MAX(c, d)));
}

/* Take a level off x. */
#define LEVEL(sum, x, level)   \
    do {                       \
        vec u = (level) + (x); \
        u -= (level);          \
        (x) -= u;              \
        (sum) += u;            \
    } while (0)

static inline __attribute__((always_inline)) int sum_levels(const double *x, int64_t n,
                                                            gb_exact_parts *parts, int levels) {
    double top = largest_in(x, n);
    if (!(top < LARGEST)) return GB_EXACT_NOT;
    int p = level_for(top);
    parts->level[0] = 1.5 * power(p), parts->level[1] = 1.5 * power(p - DOWN);
    vec zero = {0}, l0 = zero + parts->level[0], l1 = zero + parts->level[1];
    vec a0 = zero, a1 = zero, b0 = zero, b1 = zero;
    bits left = {0};
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        vec a = load(x + i), b = load(x + i + LANES);
        LEVEL(a0, a, l0);
        LEVEL(b0, b, l0);
        if (levels > 1) {
            LEVEL(a1, a, l1);
            LEVEL(b1, b, l1);
        }
        left |= (bits)a | (bits)b;
    }
    parts->part[0] = sum_of(a0 + b0), parts->part[1] = sum_of(a1 + b1);
    if (parts->part[0] != parts->part[0]) return GB_EXACT_NOT;
    return any(left & (int64_t)MAGNITUDE) ? GB_EXACT_REST : GB_EXACT_ALL;
}

static int sum(const double *x, int64_t n, gb_exact_parts *parts) {
    return sum_levels(x, n, parts, 2);
}
static int sum_coarse(const double *x, int64_t n, gb_exact_parts *parts) {
    return sum_levels(x, n, parts, 1);
}

static void rest(const double *x, int64_t n, const gb_exact_parts *parts, int levels, double *out) {
    vec zero = {0}, l0 = zero + parts->level[0], l1 = zero + parts->level[1], taken = zero;
    for (int64_t i = 0; i < n; i += LANES) {
        vec a = load(x + i);
        LEVEL(taken, a, l0);
        if (levels > 1) LEVEL(taken, a, l1);
        memcpy(out + i, &a, sizeof a);
    }
    (void)taken;
}

#ifdef FMA
/* A product is p = x y rounded, and the error that FMA gives: at most half a unit in p's last
 * place, and a double unless it lies below the smallest one, which products of SMALLEST and more
 * rule out. */
#define SMALLEST 0x1p-960

/* Move a level's part of x onto that level: the sum stays below twice the level, so that the unit
 * stays. Ties go by the sum so far, so a caller that needs the remainder of x cannot use this. */
#define ONTO(level, x)           \
    do {                         \
        vec sum = (level) + (x); \
        (x) -= sum - (level);    \
        (level) = sum;           \
    } while (0)

static int dot(const double *x, const double *y, int64_t n, gb_exact_parts *parts) {
    vec zero = {0}, most = zero, smallest = zero + SMALLEST;
    bits small = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        vec a = load(x + i), b = load(y + i), p = absolute(a * b);
        most = MAX(most, p);
        small |= (bits)(p < smallest) & (bits)(a != zero) & (bits)(b != zero);
    }
    double top = largest_of(most);
    if (!(top < LARGEST) || any(small)) return GB_EXACT_NOT;
    int p = level_for(top);
    vec l0 = zero + 1.5 * power(p), l1 = zero + 1.5 * power(p - DOWN);
    vec k0 = zero + 1.5 * power(p - 53), k1 = zero + 1.5 * power(p - 53 - DOWN);
    vec s0 = l0, s1 = l1, t0 = k0, t1 = k1;
    bits left = {0};
    for (int64_t i = 0; i < n; i += LANES) {
        vec a = load(x + i), b = load(y + i), v = a * b, e = FMA(a, b, -v);
        ONTO(s0, v);
        ONTO(t0, e);
        ONTO(s1, v);
        ONTO(t1, e);
        left |= (bits)v | (bits)e;
    }
    parts->part[0] = sum_of(s0 - l0), parts->part[1] = sum_of(s1 - l1),
    parts->part[2] = sum_of(t0 - k0), parts->part[3] = sum_of(t1 - k1);
    if (parts->part[0] != parts->part[0]) return GB_EXACT_NOT;
    return any(left & (int64_t)MAGNITUDE) ? GB_EXACT_REST : GB_EXACT_ALL;
}

static void split(const double *x, const double *y, int64_t n, double *product, double *error) {
    for (int64_t i = 0; i < n; i += LANES) {
        vec a = load(x + i), b = load(y + i), v = a * b, e = FMA(a, b, -v);
        memcpy(product + i, &v, sizeof v);
        memcpy(error + i, &e, sizeof e);
    }
}
#else /* without such an instruction integers are quicker */
#define dot NULL
#define split NULL
#endif

static void sum_integers(const uint64_t *x, int64_t n, uint64_t *high, uint64_t *low) {
    uint64_t h = 0, l = 0;
    for (int64_t i = 0; i < n; i++) h += x[i] >> 32, l += x[i] & 0xffffffffu;
    *high = h;
    *low = l;
}

const gb_exact_kernels GB_KERNELS = {sum, sum_coarse, dot, rest, split, sum_integers};
