/* device_route.h: the same elements seen from two sides, as few axes as they can be. */
#ifndef GRIDBUF_DEVICE_ROUTE_H
#define GRIDBUF_DEVICE_ROUTE_H

#include "device.h"

typedef struct gb_axis { int64_t n, a, b; } gb_axis;   /* elements, and bytes between them on either side */

/* Slowest to fastest by a's strides; a's are positive, neighbours are merged where both sides allow it. */
typedef struct gb_pair {
    gb_axis axis[GB_MAXDIMS + 1];
    int ndim;
    int64_t a_at, b_at;   /* where the first element lies, in bytes from the one given */
    int64_t size;
} gb_pair;
void gb_pair_make(gb_pair *p, int ndim, const int64_t *shape, const int64_t *a, const int64_t *b);

/* a's strides without gaps, in the order that p has. */
void gb_pair_pack(const gb_pair *p, int64_t itemsize, int64_t *strides);

/* Byte moves between the sides: how many calls of the driver that is, and they themselves. */
int64_t gb_pair_calls(const gb_pair *p, int64_t itemsize);
int gb_pair_move(const gb_pair *p, int direction, uint64_t a, uint64_t b, int64_t itemsize, gb_cuda_queue on);

/* a = b by the relayout kernel, on one device; b may repeat (strides of 0). */
int gb_pair_relayout(const gb_pair *p, uint64_t a, uint64_t b, int64_t itemsize, gb_cuda_queue on);
int gb_pair_kernel(const gb_pair *p, uint64_t a, uint64_t b, int64_t itemsize, gb_cuda_queue on, gb_cuda_error *e);   /* without Python */

#endif
