/* describe.c: memory that exists already: read back as a plan, and compared with a request. In C,
 * because a forked child wraps memory, too. */
#include "plan.h"

#include <string.h>

/* ---- reading back ---- */

/* The distance, whatever its direction; INT64_MIN has none and stays. */
static int64_t magnitude(int64_t x) { return x < 0 ? (int64_t)(0 - (uint64_t)x) : x; }

/* Indices by stride, largest first, ties by position as in C order. */
static void sort_by_stride(const gb_geometry *g, int *order) {
    for (int i = 0; i < g->ndim; i++) {
        int at = i;
        while (at > 0 && magnitude(g->strides[order[at - 1]]) < magnitude(g->strides[i])) {
            order[at] = order[at - 1];
            at--;
        }
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

/* ---- comparing; an index of one element has no say: no step is taken along it ---- */

/* Bytes that the preset, or an alignment in items, requires by itself. */
static int64_t own_boundary(const gb_request *r, const gb_preset *preset) {
    int64_t items = r->alignment > 0 ? r->alignment : preset ? preset->alignment : 1;
    return items > 1 ? items * (r->itemsize > 0 ? r->itemsize : 1) : 1;
}

static int wants_device(const gb_request *r, const gb_preset *preset, const gb_plan *wanted,
                        const gb_plan *have) {
    return (r->device || preset) &&
           (wanted->device != have->device || wanted->device_id != have->device_id);
}

/* The indices of more than one element, slowest first; how many. */
static int long_indices(const gb_geometry *g, const int32_t *layout, int *out) {
    int n = 0;
    for (int i = 0; i < g->ndim; i++) {
        if (g->shape[i] <= 1) continue;
        int at = n++;
        while (at > 0 && layout[out[at - 1]] > layout[i]) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = i;
    }
    return n;
}

/* Strides fall in the order of the layout, each over all of the next, down to the item size. */
static int ordered(const gb_geometry *g, const int *indices, int n) {
    for (int k = 0; k + 1 < n; k++) {
        int64_t reach;
        int next = indices[k + 1];
        if (__builtin_mul_overflow(g->shape[next], g->strides[next], &reach) ||
            g->strides[indices[k]] < reach)
            return 0;
    }
    return n == 0 || g->strides[indices[n - 1]] == g->itemsize;
}

/* Bytes that rows must begin at multiples of. */
static int64_t row_boundary(const gb_request *r, const gb_preset *preset, const gb_plan *wanted) {
    if (r->padding == GB_PAD_TO_BOUNDARY) return wanted->want.boundary;
    if (r->padding == GB_PAD_NONE) return 1;
    if (r->padding == GB_PAD_AS_PRESET) return own_boundary(r, preset);
    int64_t boundary;
    return __builtin_mul_overflow(r->padding, r->itemsize > 0 ? r->itemsize : 1, &boundary)
               ? INT64_MAX
               : boundary;
}

/* Bytes from the last boundary to the aligned element. */
static int64_t after_boundary(const gb_geometry *g, const int64_t *aligned, uintptr_t data,
                              int64_t boundary) {
    __int128 b = boundary, at = (__int128)data % b;
    for (int i = 0; i < g->ndim; i++) at = (at + aligned[i] % b * (g->strides[i] % b)) % b;
    return (int64_t)(at < 0 ? at + b : at);
}

/* The plan's own strides meet all of this unasked: a padded index of one element puts the others'
 * further apart. */
static int misses_strides(const gb_request *r, const gb_preset *preset, const gb_plan *wanted,
                          const gb_geometry *g, gb_plan_missed *missed) {
    int indices[GB_MAXDIMS], n = long_indices(g, wanted->layout, indices);
    if ((preset || r->layout_len >= 0) && g->size && !ordered(g, indices, n))
        return missed->what = GB_PLAN_MISSES_ORDER;
    missed->boundary = row_boundary(r, preset, wanted);
    for (int k = 0; k + 1 < n && g->size; k++)
        if (g->strides[indices[k]] % missed->boundary) return missed->what = GB_PLAN_MISSES_ROWS;
    for (int k = 0; k < n && r->padding == GB_PAD_NONE; k++)
        if (g->strides[indices[k]] != wanted->geometry.strides[indices[k]])
            return missed->what = GB_PLAN_MISSES_PACKED;
    return GB_PLAN_MEETS_ALL;
}

void gb_plan_compare(const gb_request *r, const gb_preset *preset, const gb_plan *wanted,
                     const gb_plan *have, uintptr_t data, gb_plan_missed *missed) {
    const gb_geometry *g = &have->geometry;
    *missed = (gb_plan_missed){.what = GB_PLAN_MEETS_ALL};
    if (wants_device(r, preset, wanted, have)) {
        missed->what = GB_PLAN_MISSES_DEVICE;
        return;
    }
    if ((r->memory || preset) && wanted->memory != have->memory) {
        missed->what = GB_PLAN_MISSES_MEMORY;
        return;
    }
    if (memcmp(g->strides, wanted->geometry.strides, g->ndim * sizeof *g->strides) &&
        misses_strides(r, preset, wanted, g, missed))
        return;
    if (!r->byte_alignment && !preset && r->aligned_len < 0) return;
    missed->boundary =
        preset && !r->byte_alignment ? own_boundary(r, preset) : wanted->want.boundary;
    missed->after = g->size ? after_boundary(g, wanted->aligned_index, data, missed->boundary) : 0;
    if (missed->after) missed->what = GB_PLAN_MISSES_BOUNDARY;
}
