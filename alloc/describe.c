/* describe.c: a plan read back from memory that exists already; describe.go says what it means. */
#include "planner.h"

#include <string.h>

/* The distance, whatever its direction; INT64_MIN has none and stays. */
static int64_t magnitude(int64_t x) { return x < 0 ? (int64_t)(0 - (uint64_t)x) : x; }

/* Indices by stride, largest first, ties by position as in C order. */
static void sort_by_stride(const gb_geometry *g, int *order) {
    for (int i = 0; i < g->ndim; i++) {
        int at = i;
        while (at > 0 && magnitude(g->strides[order[at - 1]]) < magnitude(g->strides[i]))
            order[at] = order[at - 1], at--;
        order[at] = i;
    }
}

void gb_plan_read_rows(const gb_geometry *g, int32_t *layout, int64_t *padded_shape) {
    int order[GB_MAXDIMS];
    sort_by_stride(g, order);
    for (int rank = 0; rank < g->ndim; rank++) {
        int i = order[rank], slower = rank ? order[rank - 1] : i;
        layout[i] = rank;
        padded_shape[i] = g->shape[i];
        if (rank == 0 || g->strides[i] == 0) continue;
        int64_t per = magnitude(g->strides[slower]) / magnitude(g->strides[i]);
        if (per > g->shape[i] && g->shape[slower] > 1) padded_shape[i] = per;
    }
}

/* From the lowest byte that belongs to an element to the highest. */
static int64_t extent(const gb_geometry *g) {
    uint64_t span = (uint64_t)g->itemsize;
    for (int i = 0; i < g->ndim; i++) {
        if (g->shape[i] == 0) return 0;
        span += (uint64_t)(g->shape[i] - 1) * (uint64_t)magnitude(g->strides[i]);
    }
    return (int64_t)span;
}

static int countable(const gb_geometry *g) {
    int64_t size = 1;
    for (int i = 0; i < g->ndim; i++)
        if (size == 0 || g->shape[i] == 0) size = 0;
        else if (g->shape[i] < 0 || __builtin_mul_overflow(size, g->shape[i], &size)) return 0;
    return 1;
}

int gb_plan_read_back(const gb_geometry *from, uintptr_t data, gb_plan *p, gb_error *e) {
    gb_geometry *g = &p->geometry;
    size_t n = (size_t)from->ndim;
    char text[GB_TEXT(GB_MAXDIMS)];
    if (n > GB_MAXDIMS)
        return gb_refuse(e, GB_VALUE_ERROR, "shape: %zu dimensions; at most %d are allowed", n,
                         GB_MAXDIMS);
    if (!countable(from))
        return gb_refuse(e, GB_VALUE_ERROR, "shape: %s has more elements than 2^63",
                         gb_text_ints(text, from->shape, (int)n));
    memcpy(g->shape, from->shape, n * sizeof *g->shape);
    memcpy(g->strides, from->strides, n * sizeof *g->strides);
    memcpy(g->dims, from->dims, n * sizeof *g->dims);
    g->itemsize = from->itemsize;
    gb_plan_read_rows(g, p->layout, p->padded_shape);
    p->want.boundary = data & 4095 ? (int64_t)(data & (0 - data)) : 4096;
    p->want.offset = 0;
    p->want.span = p->want.reserve = extent(g);
    p->device = 1;
    return 0;
}
