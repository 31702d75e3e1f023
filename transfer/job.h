/* job.h: what plan.c decides and run.c carries out. */
#ifndef GRIDBUF_JOB_H
#define GRIDBUF_JOB_H

#include "axes.h"

enum gb_job_kind {
    GB_MOVE,          /* rows dense on both sides */
    GB_STRIDED,       /* rows with gaps, no conversion */
    GB_CONVERT,       /* rows, converted */
    GB_REPEAT,        /* rows of one element each, repeated */
    GB_TRANSPOSE,     /* through a scratch buffer */
    GB_FILL, GB_FILL_STRIDED,
    GB_SLIDE,         /* within one piece of memory, in order */
};

#define GB_SCRATCH (76 << 10)   /* bytes of the largest transposed tile: half as long again as run_of says, on both sides */

void gb_job_plan(gb_job *job, gb_axes *axes, gb_cast_fn cast, int64_t dst_item, int shift);

#endif
