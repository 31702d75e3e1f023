/* relayout.h: jobs for the kernels, which launch.c launches. */
#pragma once

#include "context.h"
#include "kernels.h"

/* The axes of a job: 1 nothing to move, 0, or -1. The first is the element's bytes; src NULL: a fill. */
int gb_cu_prepare(gb_kernel_job *j, const gb_cuda_view *dst, const gb_cuda_view *src, const int64_t *shape, int ndim, int itemsize,
                  gb_cuda_error *e);

/* The largest word that divides addresses and strides, and the fastest axis in it. */
int gb_cu_into_words(gb_kernel_job *j);
