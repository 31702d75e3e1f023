/* transfer.h: filling and copying strided host memory, without Go.
 *
 * gb_copy_plan works out how: axes are dropped, flipped, sorted and merged, and what
 * is left is cut into tiles of some 10 to 100 KiB. gb_copy_job_run runs any range of a
 * job's tiles; distinct ranges may run on distinct threads at the same time, which
 * gb_work_resume of a gb_copy's work sees to; gb_copy_serial does all of it on the
 * caller's thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../alloc/elements.h"
#include "../internal/work/work.h"

#define GB_COPY_DIMS 64 /* NumPy's own maximum */
#define GB_COPY_RUN 448 /* longest run of elements in a tile of a transposed copy */

/* Whether elements are a number that copies convert; all others are GB_RAW here. */
#define GB_COPY_CONVERTS_(with, T, ...) [GB_##T] = 1,
static inline int gb_copy_converts(int type) {
    static const uint8_t converts[GB_TYPES] = {GB_EACH_NUMBER(GB_COPY_CONVERTS_, )};
    return (unsigned)type < GB_TYPES && converts[type];
}
#undef GB_COPY_CONVERTS_

typedef struct gb_copy_view {
    char *data; /* element 0 */
    int64_t itemsize;
    int32_t type, ndim;             /* type: GB_RAW, or one of which gb_copy_converts is true */
    const int64_t *shape, *strides; /* strides in bytes, of any sign */
} gb_copy_view;

/* One loop over tiles: how often, and how far each pointer moves. */
typedef struct gb_copy_loop {
    int64_t count, dst_step, src_step;
} gb_copy_loop;

/* One side of a tile. */
typedef struct gb_copy_side {
    int64_t n, chunk; /* steps of its last axis in all, and in a chunk */
    int64_t inner;    /* elements in one step */
    int64_t dst, src; /* distance of two neighbouring elements, in bytes */
    int loop;         /* number of the loop over chunks; -1: one chunk */
} gb_copy_side;

typedef void (*gb_copy_cast_fn)(void *dst, const void *src, int64_t n);

typedef struct gb_copy_job {
    int64_t tiles; /* 0: nothing to do */
    int64_t bytes; /* read and written in all */
    int kind;      /* gb_copy_job_kind */
    int ordered;   /* source and target overlap: tiles in order, on one thread */
    int backward;  /* ordered, from the last tile to the first */
    int stream;    /* write past the caches */
    int at_lines;  /* transposed: tiles may be cut at cache lines instead of chunks */
    int alike;     /* transposed: the rows of a tile reach their lines at the same element */
    int next_row;  /* transposed: the loop over rows that adjoin in the target; -1: none */
    int loops;
    gb_copy_loop loop[GB_COPY_DIMS + 2];
    gb_copy_side a, b; /* the two axes of a tile: a is the target's fastest; b the source's where
                          that is another one, else the target's next */
    char *dst;
    const char *src;
    int64_t dst_item, src_item;
    gb_copy_cast_fn cast;                             /* NULL: elements are moved */
    char value[64];                                   /* of a fill, in the target's type */
    int64_t src_at[GB_COPY_RUN], dst_at[GB_COPY_RUN]; /* where a transposed tile's runs start */
} gb_copy_job;

/* A copy: one job, or two with a temporary between them, the tiles of each as work. It stays where
 * it was planned. */
typedef struct gb_copy {
    int jobs;
    void *temporary;
    gb_work work[2];
    gb_copy_job job[2];
} gb_copy;

enum { GB_COPY_OK = 0, GB_COPY_NO_MEMORY = -1, GB_COPY_BAD_VIEW = -2, GB_COPY_NO_CAST = -3 };

/* Both views have the same shape; a stride of 0 in src repeats. The result is as if src had been
 * copied away first. */
int gb_copy_plan(gb_copy *copy, const gb_copy_view *dst, const gb_copy_view *src);
/* value: one element of the given type; it is not kept. */
int gb_copy_plan_fill(gb_copy *copy, const gb_copy_view *dst, const void *value, int type,
                      int64_t itemsize);
void gb_copy_done(gb_copy *copy);

void gb_copy_job_run(const gb_copy_job *job, int64_t first, int64_t end);

int gb_copy_serial(const gb_copy_view *dst, const gb_copy_view *src);

/* A copy with room for what its views point to: for callers who cannot keep pointers, such as Go.
 */
typedef struct gb_copy_task {
    gb_copy copy;
    gb_copy_view dst, src;
    int64_t shape[GB_COPY_DIMS], dst_strides[GB_COPY_DIMS], src_strides[GB_COPY_DIMS];
    char value[16];
} gb_copy_task;

/* The kernels in use: "plain", "neon", "avx2", "avx512". gb_copy_kernels_use returns -1 when this
 * processor has no such. */
const char *gb_copy_kernels_name(void);
int gb_copy_kernels_use(const char *name);

/* For tests: bytes of the last cache level, above which copies stream; 0: ask the system again. */
void gb_copy_assume_cache(int64_t bytes);
