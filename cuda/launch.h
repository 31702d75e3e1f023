/* launch.h: the kernels, by what they do and the word that they move. */
#pragma once

#include "context.h"
#include "kernels.h"

enum {
    GB_CU_COPY,
    GB_CU_FAR,
    GB_CU_FILL,
    GB_CU_TRANSPOSE,
    GB_CU_PROGRAM
}; /* as gb_cu_device.functions has them */

/* With the context current. */
int gb_cu_launch(gb_cu_device *d, int way, int word, gb_kernel_job *job, gb_cuda_stream stream,
                 gb_cuda_error *e);
int gb_cu_launch_program(gb_cu_device *d, gb_kernel_program *job, gb_cuda_stream stream,
                         gb_cuda_error *e);
