/* strides.h: the strides of memory without gaps. */
#pragma once

#include <stdint.h>

/* C order, from the distance of two neighbours along the last index on. Unsigned in between: an empty array may have any shape. */
static inline void gb_c_strides(int64_t *strides, const int64_t *shape, int ndim, int64_t step) {
    uint64_t at = (uint64_t)step;
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = (int64_t)at;
        at *= shape[i] > 1 ? (uint64_t)shape[i] : 1;
    }
}
