/* relayout.h: jobs for the kernels: relayout.c and fill.c prepare them, launch.c launches. */
#ifndef GRIDBUF_CUDA_RELAYOUT_H
#define GRIDBUF_CUDA_RELAYOUT_H

#include "driver.h"
#include "kernels.h"

enum { GB_CU_COPY, GB_CU_FAR, GB_CU_FILL, GB_CU_TRANSPOSE };   /* as gb_cu_device.functions has them */

/* The axes of a job: 1 nothing to move, 0, or -1. The first is the element's bytes; src NULL: a fill. */
int gb_cu_prepare(gb_kernel_job *j, const gb_cuda_view *dst, const gb_cuda_view *src, const int64_t *shape, int ndim, int itemsize,
                  gb_cuda_error *e);

/* The largest word that divides addresses and strides, and the fastest axis in it. */
int gb_cu_into_words(gb_kernel_job *j);

/* With the context current. */
int gb_cu_launch(gb_cu_device *d, int way, int word, gb_kernel_job *job, gb_cuda_stream stream, gb_cuda_error *e);

#endif
