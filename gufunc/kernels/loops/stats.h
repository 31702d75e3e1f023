/* stats.h: states of the reductions that carry more than one number. */
#pragma once

#include <stdint.h>

typedef struct gb_gu_extreme {
    double value;
    int64_t index;
} gb_gu_extreme; /* index -1: nothing seen */
typedef struct gb_gu_range {
    double low, high;
    int64_t n;
} gb_gu_range;
typedef struct gb_gu_moments {
    double n, mean, squares;
} gb_gu_moments; /* squares: of the deviations */
