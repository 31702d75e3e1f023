/* cast_loops.h: the loops that convert, of each instruction set: [to][from]. */
#pragma once

#include "types.h"

typedef void (*gb_gu_cast_loop)(char *dst, intptr_t dst_step, const char *src, intptr_t src_step,
                                int64_t n);
extern const gb_gu_cast_loop gb_gu_casts_base[GB_REALS][GB_REALS],
    gb_gu_casts_avx2[GB_REALS][GB_REALS];
