/* pair.h: the same elements seen from two sides, as few axes as they can be, and the ways to move them. */
#ifndef GRIDBUF_CUDA_PAIR_H
#define GRIDBUF_CUDA_PAIR_H

#include "strided.h"

typedef struct gb_cu_axis { int64_t n, a, b; } gb_cu_axis;   /* elements, and bytes between them on either side */

/* Slowest to fastest by a's strides; a's are positive, neighbours are merged where both sides allow it. */
typedef struct gb_cu_pair {
    gb_cu_axis axis[GB_COPY_DIMS + 1];
    int ndim;
    int64_t a_at, b_at;   /* where the first element lies, in bytes from the one given */
    int64_t size;
} gb_cu_pair;
void gb_cu_pair_make(gb_cu_pair *p, int ndim, const int64_t *shape, const int64_t *a, const int64_t *b);

/* Strides without gaps, in the order that p has. */
void gb_cu_pair_pack(const gb_cu_pair *p, int64_t itemsize, int64_t *strides);
/* p with one side without gaps; and whether, in such a pair, the other one has none either. */
gb_cu_pair gb_cu_pair_packed(const gb_cu_pair *p, int64_t itemsize, int keep_a);
int gb_cu_pair_is_packed(const gb_cu_pair *p);
int gb_cu_pair_repeats(const gb_cu_pair *p);   /* b has strides of 0 */
int gb_cu_pair_overlaps(const gb_cu_pair *p, uint64_t a, uint64_t b, int64_t itemsize);

/* ---- moves.c ---- */

/* Byte moves between the sides, of which a is the GPU's, or the target: how many calls of the driver, and they themselves. */
int64_t gb_cu_pair_calls(const gb_cu_pair *p, int64_t itemsize);
int gb_cu_pair_move(const gb_cu_pair *p, int direction, uint64_t a, uint64_t b, int64_t itemsize, gb_cuda_queue on, gb_cuda_error *e);
/* a = b by the relayout kernel, on one device; b may repeat. */
int gb_cu_pair_relayout(const gb_cu_pair *p, uint64_t a, uint64_t b, int64_t itemsize, gb_cuda_queue on, gb_cuda_error *e);

/* ---- staging.c ---- */

#define GB_CU_DIRECT_CALLS 32   /* so many moves of the driver are worth their calls; then a kernel or the host lays out */

/* Between the host and a GPU, whose side is the pair's a; converted where the types differ. */
typedef struct gb_cu_staged {
    int direction;              /* GB_CUDA_UPLOAD or GB_CUDA_DOWNLOAD */
    int pinned;                 /* the host's side can be moved as it is */
    const gb_cu_pair *pair;
    uint64_t device;
    char *host;
    int64_t device_item, host_item;
    int device_type, host_type;
    gb_cuda_queue on;
} gb_cu_staged;
int gb_cu_staged_copy(gb_cuda_job *job, const gb_cu_staged *s, gb_cuda_error *e);

/* Memory that the job's work needs for a while, at *data. */
int gb_cu_temporary(gb_cuda_job *job, int kind, int64_t bytes, gb_cuda_queue on, uint64_t *data, gb_cuda_error *e);

#endif
