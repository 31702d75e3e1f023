/* plan.c: the memory of plans and geometries, and what follows from their strides. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

int64_t gb_geometry_bytes(int ndim) {
    return (3 * (int64_t)sizeof(int64_t) + (int64_t)sizeof(int32_t)) * ndim;
}

void gb_geometry_set_lists(gb_geometry *g, int ndim, void *memory) {
    g->ndim = ndim;
    g->shape = memory;
    g->strides = g->shape + ndim;
    g->steps = g->strides + ndim;
    g->dims = (int32_t *)(g->steps + ndim);
}

/* Strides in items. Nearly every item size is a power of two, and a division costs as much
 * as all the rest here. Returns whether every stride is a whole number of items. */
static int count_steps(gb_geometry *g) {
    int64_t item = g->itemsize;
    int whole = item > 0, power = whole && (item & (item - 1)) == 0,
        shift = power ? __builtin_ctzll((uint64_t)item) : 0;
    for (int i = 0; i < g->ndim; i++) {
        int64_t s = g->strides[i];
        whole = whole && (power ? (s & (item - 1)) == 0 : s % item == 0);
        g->steps[i] = !whole ? 0 : power ? s >> shift : s / item;
    }
    return whole;
}

void gb_geometry_finish(gb_geometry *g) {
    int64_t item = g->itemsize, c = item, f = item, size = 1;
    int is_c = 1, is_f = 1, packed_c = 1, packed_f = 1;
    for (int i = 0; i < g->ndim; i++) size *= g->shape[i];
    for (int i = 0; i < g->ndim; i++) {
        int k = g->ndim - 1 - i;
        packed_f &= g->strides[i] == f;
        packed_c &= g->strides[k] == c;
        is_f &= g->strides[i] == f || g->shape[i] == 1;
        is_c &= g->strides[k] == c || g->shape[k] == 1;
        f *= g->shape[i];
        c *= g->shape[k];
    }
    if (size == 0) is_c = is_f = 1;
    g->size = size;
    g->nbytes = size * item;
    g->whole_steps = count_steps(g);
    g->flags = (is_c ? GB_GEOMETRY_C_CONTIGUOUS : 0) | (is_f ? GB_GEOMETRY_F_CONTIGUOUS : 0);
    if (size > 0)
        g->flags |= (packed_c ? GB_GEOMETRY_C_PACKED : 0) | (packed_f ? GB_GEOMETRY_F_PACKED : 0);
}

gb_plan *gb_plan_new(int ndim) {
    int64_t lists = gb_geometry_bytes(ndim) +
                    (ndim & 1) * (int64_t)sizeof(int32_t); /* keep what follows aligned */
    gb_plan *p = calloc(1, sizeof *p + lists + (2 * sizeof(int64_t) + sizeof(int32_t)) * ndim);
    if (!p) return NULL;
    char *memory = (char *)(p + 1);
    gb_geometry_set_lists(&p->geometry, ndim, memory);
    p->padded_shape = (int64_t *)(memory + lists);
    p->aligned_index = p->padded_shape + ndim;
    p->layout = (int32_t *)(p->aligned_index + ndim);
    return p;
}

void gb_plan_finish(gb_plan *p) { gb_geometry_finish(&p->geometry); }
