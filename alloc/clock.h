/* clock.h: the clock by which long work is cut into slices, and waits are bounded. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline int64_t gb_nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}
