/* satisfy.c: whether memory that exists already is as a request wants it. In C, because a forked
 * child wraps memory, too. An index of one element has no say in any of this: nobody takes a step
 * along it. */
#include "planner.h"

#include <string.h>

/* What the preset, or an alignment in items, asks for by itself: bytes. */
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
        while (at > 0 && layout[out[at - 1]] > layout[i]) out[at] = out[at - 1], at--;
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

/* Not asked of strides that are the plan's own: a padded index of one element puts the others'
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
