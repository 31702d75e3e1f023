/* stats.h: states of the reductions that carry more than one number. */
#ifndef GRIDBUF_KERNELS_STATS_H
#define GRIDBUF_KERNELS_STATS_H

#include <stdint.h>

typedef struct gb_extreme { double value; int64_t index; } gb_extreme;              /* index -1: nothing seen */
typedef struct gb_range { double low, high; int64_t n; } gb_range;
typedef struct gb_moments { double n, mean, squares; } gb_moments;                  /* squares: of the deviations */

#endif
