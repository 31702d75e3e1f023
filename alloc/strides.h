/* strides.h: the strides of memory without gaps, how far strides reach, and moving single elements
 * between places at regular distances. */
#pragma once

#include <stdint.h>
#include <string.h>

/* C order, from the distance of two neighbours along the last index on. Unsigned in between: an
 * empty array may have any shape. */
static inline void gb_c_strides(int64_t *strides, const int64_t *shape, int ndim, int64_t step) {
    uint64_t at = (uint64_t)step;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = (int64_t)at;
        at *= shape[i] > 1 ? (uint64_t)shape[i] : 1;
    }
}

/* The bytes from the lowest element to the end of the highest, where element 0 lies at p: [*low,
 * *end). 0: there are none. */
static inline int gb_extent(const void *p, const int64_t *shape, const int64_t *strides, int ndim,
                            int64_t item, intptr_t *low, intptr_t *end) {
    *low = (intptr_t)p, *end = (intptr_t)p + item;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 0) return 0;
        *(strides[d] < 0 ? low : end) += (shape[d] - 1) * strides[d];
    }
    return item > 0;
}

/* The same from element 0 on, of unchecked numbers: *low <= 0 <= *high. The first
 * index with which the bytes are more than 63 bits count, or -1. No size is 0. */
static inline int gb_reach(const int64_t *shape, const int64_t *strides, int ndim, int64_t item,
                           int64_t *low, int64_t *high) {
    int64_t span, all;
    *low = 0, *high = item;
    for (int d = 0; d < ndim; d++) {
        int64_t *end = strides[d] < 0 ? low : high;
        if (__builtin_mul_overflow(shape[d] - 1, strides[d], &span) ||
            __builtin_add_overflow(*end, span, end) || __builtin_sub_overflow(*high, *low, &all))
            return d;
    }
    return -1;
}

/* The largest step of which both are multiples. */
static inline int64_t gb_gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#define GB_LOOP_(word)                            \
    for (int64_t i = 0; i < n; i++) {             \
        word x;                                   \
        memcpy(&x, src + i * src_step, sizeof x); \
        memcpy(dst + i * dst_step, &x, sizeof x); \
    }                                             \
    break

typedef struct {
    uint64_t half[2];
} gb_pair_;

/* Move n elements of item bytes; neighbours are dst_step and src_step bytes apart. One loop per
 * size of element: the compiler cannot unroll a size it does not know. */
static inline void gb_move_strided(char *dst, int64_t dst_step, const char *src, int64_t src_step,
                                   int64_t n, int64_t item) {
    switch (item) {
    case 1: GB_LOOP_(uint8_t);
    case 2: GB_LOOP_(uint16_t);
    case 4: GB_LOOP_(uint32_t);
    case 8: GB_LOOP_(uint64_t);
    case 16: GB_LOOP_(gb_pair_);
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + i * dst_step, src + i * src_step, (size_t)item);
    }
}
#undef GB_LOOP_
