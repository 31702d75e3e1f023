/* sizes.h: size classes. Steps of 64 bytes up to 1 KiB, then eight a doubling up to
 * GB_HEAP_SMALL_MAX; larger blocks are exact, in pages, and hashed into bins. */
#pragma once

#include "block.h"

#define GB_HEAP_SMALL_BINS 64
#define GB_HEAP_LARGE_BINS 64

static inline int gb_heap_small_bin(int64_t need) {
    if (need <= 1024) return need <= 64 ? 0 : (int)((need + 63) / 64 - 1);
    int log = 63 - __builtin_clzll((uint64_t)(need - 1)); /* 2^log < need <= 2^(log+1) */
    int64_t step = (int64_t)1 << (log - 3);
    return 16 + (log - 10) * 8 + (int)((need - ((int64_t)1 << log) + step - 1) / step - 1);
}

static inline int64_t gb_heap_small_bytes(int bin) {
    if (bin < 16) return (bin + 1) * 64;
    int log = 10 + (bin - 16) / 8;
    return ((int64_t)1 << log) + ((bin - 16) % 8 + 1) * ((int64_t)1 << (log - 3));
}

static inline int gb_heap_bin(int64_t reserve) {
    if (reserve <= GB_HEAP_SMALL_MAX) return gb_heap_small_bin(reserve);
    return GB_HEAP_SMALL_BINS + (int)(((uint64_t)reserve >> 12) * 0x9E3779B97F4A7C15u >> 58);
}
