/* planner.h: the planner that Python and a forked child use. It gives the answers of Go's
 * (plan.go, describe.go), to the byte and to the letter; planner_test.go holds them equal. */
#pragma once

#include "plan.h"
#include "preset.h"

/* alloc.Spec for C. A list whose length is -1 was not given. */
typedef struct gb_request {
    int32_t ndim, sub_ndim, backend, device, device_id, memory;
    int32_t dims_len, aligned_len, layout_len, reserved;
    int64_t itemsize, byte_alignment, padding, alignment;
    int64_t shape[GB_MAXDIMS], aligned_index[GB_MAXDIMS];
    int32_t dims[GB_MAXDIMS], layout[GB_MAXDIMS];
} gb_request;

/* The code of an index that the shape counts; without names they are I, J, K, 0, 1, ... */
static inline int32_t gb_request_dim(const gb_request *r, int i) {
    return r->dims_len < 0 ? GB_DIM_I + i : r->dims[i];
}

/* The answer to a request, into a plan from gb_plan_new(r->ndim); 0, or -1 with the error. */
int gb_plan_request(const gb_request *r, const gb_preset *preset, gb_plan *plan, gb_error *e);

/* A plan read back from memory that exists: shape, strides, dims and itemsize of g, element 0 at
 * data. */
int gb_plan_read_back(const gb_geometry *g, uintptr_t data, gb_plan *plan, gb_error *e);

/* What memory misses of a request, in the order in which it is looked at. */
enum {
    GB_PLAN_MEETS_ALL,
    GB_PLAN_MISSES_DEVICE,
    GB_PLAN_MISSES_MEMORY,
    GB_PLAN_MISSES_ORDER,
    GB_PLAN_MISSES_ROWS,
    GB_PLAN_MISSES_PACKED,
    GB_PLAN_MISSES_BOUNDARY
};

typedef struct gb_plan_missed {
    int32_t what, reserved;
    int64_t boundary; /* of rows, or of the aligned element: bytes */
    int64_t after;    /* how many bytes after one that element lies */
} gb_plan_missed;

/* Whether memory that exists is as the request wants it: have is what gb_plan_read_back says of it,
 * of the request's shape and items, with element 0 at data; wanted is the answer to the request.
 * Only what was asked for counts: a preset (NULL: none) asks for the order of its strides, unit
 * stride where it is smallest, and its own alignment. Strides may be larger than the plan's, as
 * those of a slice are. */
void gb_plan_compare(const gb_request *r, const gb_preset *preset, const gb_plan *wanted,
                     const gb_plan *have, uintptr_t data, gb_plan_missed *missed);

/* From shape and strides alone: the rank of each index's stride, and the padding. Where rows
 * lie further apart than their elements reach, that is padding. */
void gb_plan_read_rows(const gb_geometry *g, int32_t *layout, int64_t *padded_shape);
