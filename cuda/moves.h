/* moves.h: the ways to move a pair's elements by the driver's copies or by a kernel. */
#pragma once

#include "cuda.h"
#include "kernels.h"
#include "pair.h"

/* Byte moves between the sides, of which a is the GPU's: how many calls of the driver, and they
 * themselves. */
int64_t gb_cu_pair_calls(const gb_cu_pair *p, int64_t itemsize);
int gb_cu_pair_move(const gb_cu_pair *p, int direction, uint64_t a, uint64_t b, int64_t itemsize,
                    gb_cuda_queue on, gb_cuda_error *e);
/* a = b by the relayout kernel, on one device; b may repeat. */
int gb_cu_pair_relayout(const gb_cu_pair *p, uint64_t a, uint64_t b, int64_t itemsize,
                        gb_cuda_queue on, gb_cuda_error *e);

/* An element becomes an axis of bytes, the last; -1: elements of a lie on top of each other. Of
 * such a pair the axes from `outer` on as a job of kernels, in the largest words that divide
 * addresses, strides and bytes: of how many. */
int gb_cu_pair_bytes(gb_cu_pair *p, int64_t itemsize, gb_cuda_error *e);
int gb_cu_job_of(gb_kernel_job *j, const gb_cu_pair *p, int outer, uint64_t a, uint64_t b);
