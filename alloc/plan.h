/* plan.h: requests for memory and the plans that answer them; memory that exists already, read back
 * as a plan and compared with a request.
 *
 * A gb_plan is one allocation, made by gb_plan_new and released by free; once filled in it does not
 * change. Its gb_geometry has all that an export needs; the lists lie behind the struct.
 */
#pragma once

#include "heap.h"
#include "numbers.h"
#include "preset.h"

/* PACKED is stricter than CONTIGUOUS: the strides of single-element indices are as if there
 * were more, and there is at least one element. */
enum {
    GB_GEOMETRY_C_CONTIGUOUS = 1,
    GB_GEOMETRY_F_CONTIGUOUS = 2,
    GB_GEOMETRY_C_PACKED = 4,
    GB_GEOMETRY_F_PACKED = 8
};

typedef struct gb_geometry {
    int32_t ndim, flags;
    int64_t itemsize;
    int64_t size;   /* elements */
    int64_t nbytes; /* of the elements alone */
    int64_t *shape;
    int64_t *strides;    /* bytes */
    int64_t *steps;      /* items; strides where itemsize does not divide them are not exportable */
    int32_t *dims;       /* codes (numbers.h) */
    int32_t whole_steps; /* every stride is a multiple of itemsize */
} gb_geometry;

typedef struct gb_plan {
    gb_geometry geometry;
    gb_heap_layout want; /* requirements of a block; want.boundary is the byte alignment */
    int64_t *padded_shape, *aligned_index;
    int32_t *layout;
    int32_t device, device_id, memory; /* device, memory: numbers.h */
} gb_plan;

/* Bytes of the lists of a geometry, to be placed at memory by gb_geometry_set_lists. */
int64_t gb_geometry_bytes(int ndim);
void gb_geometry_set_lists(gb_geometry *g, int ndim, void *memory);

/* Fill in what follows from shape, strides and itemsize. */
void gb_geometry_finish(gb_geometry *g);

/* A plan with room for ndim indices, or NULL; gb_plan_request writes the answer into it. */
gb_plan *gb_plan_new(int ndim);

/* Fill in the rest of the geometry, once the answer is there. */
void gb_plan_finish(gb_plan *p);

/* ---- requests ---- */

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

/* ---- memory that exists ---- */

/* A plan read back from memory that exists: shape, strides, dims and itemsize of g, element 0 at
 * data. */
int gb_plan_read_back(const gb_geometry *g, uintptr_t data, gb_plan *plan, gb_error *e);

/* The requirement of a request that memory misses, in the order in which they are checked. */
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

/* Compare memory that exists with a request: have is its gb_plan_read_back, of the request's shape
 * and items, with element 0 at data; wanted is the answer to the request. Requirements are what the
 * request names; a preset (NULL: none) requires the order of its strides, unit stride where it is
 * smallest, and its own alignment. Strides may be larger than the plan's, as those of a slice are.
 */
void gb_plan_compare(const gb_request *r, const gb_preset *preset, const gb_plan *wanted,
                     const gb_plan *have, uintptr_t data, gb_plan_missed *missed);

/* The rank of each index's stride and the padding, from shape and strides alone: rows further apart
 * than their elements reach are padded. */
void gb_plan_read_rows(const gb_geometry *g, int32_t *layout, int64_t *padded_shape);
