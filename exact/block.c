/* block.c: the sum of a block: by the kernels where they can, else number by number. */
#include "block.h"

#include <stddef.h>

static void put_parts(gb_exact_block *b, const gb_exact_parts *parts, int n) {
    for (int i = 0; i < n; i++) gb_exact_add(&b->sum, parts->part[i], b->job->negative);
}

/* Level by level, until nothing is left of any number: twice for most blocks, and never more than
 * thirty times. */
static void sum_floats(gb_exact_block *b, const double *x, int64_t n, int coarse) {
    double left[GB_EXACT_BLOCK];
    gb_exact_parts parts;
    for (;; coarse = 0) {
        int levels = coarse ? 1 : 2,
            made = (coarse ? b->kernels->sum_coarse : b->kernels->sum)(x, n, &parts);
        if (made == GB_EXACT_NOT) break;
        put_parts(b, &parts, levels);
        if (made == GB_EXACT_ALL) return;
        b->kernels->rest(x, n, &parts, levels, left);
        x = left;
    }
    for (int64_t i = 0; i < n; i++) gb_exact_add(&b->sum, x[i], b->job->negative);
}

static void sum_products(gb_exact_block *b, const double *x, const double *y, int64_t n) {
    double product[GB_EXACT_BLOCK], error[GB_EXACT_BLOCK];
    gb_exact_parts parts;
    switch (b->kernels->dot ? b->kernels->dot(x, y, n, &parts) : GB_EXACT_NOT) {
    case GB_EXACT_ALL: put_parts(b, &parts, 4); break;
    case GB_EXACT_REST:
        b->kernels->split(x, y, n, product, error);
        sum_floats(b, product, n, 0);
        sum_floats(b, error, n, 0);
        break;
    default:
        for (int64_t i = 0; i < n; i++) gb_exact_add_product(&b->sum, x[i], y[i], b->job->negative);
    }
}

/* Of signed integers the upper halves count 2^31 too much each, so that they are not negative. */
static void sum_integers(gb_exact_block *b, const uint64_t *x, int64_t n) {
    uint64_t high, low, turned = b->job->a.type == GB_U64 ? 0 : (uint64_t)1 << 63;
    uint64_t other[GB_EXACT_BLOCK];
    if (turned) {
        for (int64_t i = 0; i < n; i++) other[i] = x[i] ^ turned;
        x = other;
    }
    b->kernels->sum_integers(x, n, &high, &low);
    unsigned __int128 all = ((unsigned __int128)high << 32) + low,
                      excess = (unsigned __int128)turned * (uint64_t)n;
    int minus = all < excess;
    unsigned __int128 size = minus ? excess - all : all - excess;
    gb_exact_add_integer(&b->sum, (uint64_t)(size >> 64), (uint64_t)size, minus ^ b->job->negative);
}

static void multiply_integers(gb_exact_block *b, const uint64_t *x, const uint64_t *y, int64_t n) {
    int signed_x = b->job->a.type != GB_U64, signed_y = b->job->b.type != GB_U64;
    for (int64_t i = 0; i < n; i++) {
        int minus_x = signed_x && (int64_t)x[i] < 0, minus_y = signed_y && (int64_t)y[i] < 0;
        unsigned __int128 p =
            (unsigned __int128)(minus_x ? -x[i] : x[i]) * (minus_y ? -y[i] : y[i]);
        gb_exact_add_integer(&b->sum, (uint64_t)(p >> 64), (uint64_t)p,
                             minus_x ^ minus_y ^ b->job->negative);
    }
}

void gb_exact_sum_block(gb_exact_block *b, const double *x, const double *y, int64_t n) {
    if (!b->job->integers) {
        if (y) sum_products(b, x, y, n);
        else sum_floats(b, x, n, b->job->a.type != GB_F64);
    } else if (y) multiply_integers(b, (const uint64_t *)x, (const uint64_t *)y, n);
    else sum_integers(b, (const uint64_t *)x, n);
}

void gb_exact_flush(gb_exact_block *b) {
    if (b->n == 0) return;
    int64_t n = b->n,
            padded = b->job->integers ? n : (n + GB_EXACT_STEP - 1) / GB_EXACT_STEP * GB_EXACT_STEP;
    for (; n < padded; n++) b->x[n] = b->y[n] = 0;
    gb_exact_sum_block(b, b->x, b->job->b.data ? b->y : NULL, n);
    b->n = 0;
}
