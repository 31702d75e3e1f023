/* checksum.h: a number of the values of an array that does not depend on how its grid was cut: each
 * element mixes its place on the grid with its bytes, and elements are added modulo 2^64.
 * Checkpoints of version 2 keep these numbers: they stay as they are. */
#pragma once

#include "../internal/work/work.h"

typedef struct gb_exact_checksum {
    const char *data;
    const int64_t *shape, *strides, *start; /* start: the place of element 0 along each axis */
    int ndim;
    int64_t words, step; /* words of an element, and the bytes from one to the next */
    int word;            /* bytes of a word, in this machine's order: 1, 2, 4 or 8 */
    uint64_t seed;
    uint64_t sum; /* 0 before the work, and complete when all of it is done */
} gb_exact_checksum;

/* Pieces are indices of axis 0, which any threads may take at the same time. */
gb_work gb_exact_checksum_work(gb_exact_checksum *job);
