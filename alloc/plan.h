/* plan.h: a plan as the C side keeps it: the answer to one request, frozen.
 *
 * A gb_geometry is what every export needs; its lists point behind the struct that
 * owns it. A gb_plan is one allocation, made by gb_plan_new and released by free.
 */
#pragma once

#include "heap.h"
#include "numbers.h"

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
    gb_heap_layout want; /* what a block must satisfy; want.boundary is the byte alignment */
    int64_t *padded_shape, *aligned_index;
    int32_t *layout;
    int32_t device, device_id, memory; /* device, memory: numbers.h */
} gb_plan;

/* Bytes of the lists of a geometry, to be placed at memory by gb_geometry_set_lists. */
int64_t gb_geometry_bytes(int ndim);
void gb_geometry_set_lists(gb_geometry *g, int ndim, void *memory);

/* Fill in what follows from shape, strides and itemsize. */
void gb_geometry_finish(gb_geometry *g);

/* A plan with room for ndim indices, or NULL; a planner writes the answer into it. */
gb_plan *gb_plan_new(int ndim);

/* What follows from the answer: the geometry's rest. */
void gb_plan_finish(gb_plan *p);
