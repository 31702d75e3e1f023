/* moves.h: moves of strided elements: by the driver, by a kernel, and in chunks through pinned
 * memory. */
#pragma once

#include "driver.h"
#include "kernels.h"
#include "strided.h"

#include "../transfer/axes.h"

/* ---- pairs: the same elements with the strides of two sides, in as few axes as possible ---- */

/* Side a's strides are `dst` of each axis, not negative and descending; side b's are `src`. */
typedef struct gb_cu_pair {
    gb_copy_axis axis[GB_COPY_DIMS + 1];
    int ndim;
    int64_t a_at, b_at; /* offsets of the first element, in bytes from element 0 */
    int64_t size;
} gb_cu_pair;
void gb_cu_pair_make(gb_cu_pair *p, int ndim, const int64_t *shape, const int64_t *a,
                     const int64_t *b);

/* Lengths, and the strides of either side. */
void gb_cu_pair_lists(const gb_cu_pair *p, int64_t *shape, int64_t *a, int64_t *b);
/* Strides without gaps, in the order of p. */
void gb_cu_pair_pack(const gb_cu_pair *p, int64_t itemsize, int64_t *strides);
/* p with one side packed; and whether in such a pair the other side is packed too. */
gb_cu_pair gb_cu_pair_packed(const gb_cu_pair *p, int64_t itemsize, int keep_a);
int gb_cu_pair_is_packed(const gb_cu_pair *p);
int gb_cu_pair_overlaps(const gb_cu_pair *p, uint64_t a, uint64_t b, int64_t itemsize);

/* ---- moving a pair ---- */

/* Moves by the driver between the GPU's side a and the host's side b: how many calls it takes, and
 * the calls. */
int64_t gb_cu_pair_calls(const gb_cu_pair *p, int64_t itemsize);
int gb_cu_pair_move(const gb_cu_pair *p, int direction, uint64_t a, uint64_t b, int64_t itemsize,
                    gb_cuda_queue on, gb_cuda_error *e);
/* a = b by the relayout kernel, on one device; b may repeat. */
int gb_cu_pair_relayout(const gb_cu_pair *p, uint64_t a, uint64_t b, int64_t itemsize,
                        gb_cuda_queue on, gb_cuda_error *e);

/* ---- kernels, by operation and word ---- */

/* Rows of gb_cu_device.functions. */
enum { GB_CU_COPY, GB_CU_FAR, GB_CU_FILL, GB_CU_TRANSPOSE, GB_CU_PROGRAM };

/* The context is current. */
int gb_cu_launch_program(gb_cu_device *d, gb_kernel_program *job, gb_cuda_stream stream,
                         gb_cuda_error *e);
