/* job.h: what plan.c decides and run.c carries out. */
#pragma once

#include "axes.h"

enum gb_copy_job_kind {
    GB_COPY_MOVE,      /* rows dense on both sides */
    GB_COPY_STRIDED,   /* rows with gaps, no conversion */
    GB_COPY_CONVERT,   /* rows, converted */
    GB_COPY_REPEAT,    /* rows of one element each, repeated */
    GB_COPY_TRANSPOSE, /* through a scratch buffer */
    GB_COPY_FILL,
    GB_COPY_FILL_STRIDED,
    GB_COPY_SLIDE, /* within one piece of memory, in order */
};

#define GB_COPY_LINE 64            /* bytes of a cache line */
#define GB_COPY_SCRATCH (96 << 10) /* bytes of the largest transposed tile */

/* Bytes from one row of a transposed tile to the next in scratch memory. */
static inline int64_t gb_copy_pitch(int64_t elements, int64_t item) {
    return (elements * item + GB_COPY_LINE - 1) / GB_COPY_LINE * GB_COPY_LINE;
}

void gb_copy_job_plan(gb_copy_job *job, gb_copy_axes *axes, gb_copy_cast_fn cast, int64_t dst_item,
                      int shift);
