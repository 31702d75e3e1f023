/* plan.c: working a request out, the memory of plans and geometries, and the facts that follow from
 * their strides. The order of the steps decides which of several mistakes is named. A second text
 * of the rule is the tests' oracle (internal/plantest/oracle.go). */
#include "plan.h"
#include "strides.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory of plans ---- */

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

#define REFUSE(...) gb_refuse(e, GB_VALUE_ERROR, __VA_ARGS__)

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- a request: what each index means ---- */

static int check_dims(const int32_t *dims, int n, gb_error *e) {
    char one[16], all[GB_TEXT(GB_MAXDIMS)];
    for (int i = 0; i < n; i++) {
        if (dims[i] < GB_DIM_I)
            return REFUSE("dimensions: %d is not the code of a dimension", dims[i]);
        for (int k = 0; k < i; k++)
            if (dims[i] == dims[k])
                return REFUSE("dimensions: %s appears twice in %s; every dimension may appear once",
                              gb_text_dim(one, dims[i]), gb_text_dims(all, dims, n));
    }
    return 0;
}

static int set_dims(const gb_request *r, gb_plan *p, gb_error *e) {
    int base = r->ndim - r->sub_ndim;
    int32_t *dims = p->geometry.dims, next = 0;
    if (r->dims_len >= 0 && r->dims_len != base) {
        char shape[GB_TEXT(GB_MAXDIMS)];
        return REFUSE("dimensions: %d given for a shape of %d indices %s; they must be as many",
                      r->dims_len, base, gb_text_ints(shape, r->shape, base));
    }
    for (int i = 0; i < base; i++) {
        dims[i] = gb_request_dim(r, i);
        if (dims[i] < GB_DIM_NAMED && dims[i] + 1 > next) next = dims[i] + 1;
    }
    for (int i = base; i < r->ndim; i++) dims[i] = next + (i - base);
    return check_dims(dims, r->ndim, e);
}

static int set_layout(const gb_request *r, const gb_preset *preset, gb_plan *p, gb_error *e) {
    if (r->layout_len < 0) {
        gb_preset_layout(preset, p->geometry.dims, r->ndim, p->layout);
        return 0;
    }
    int given = r->layout_len, slower = given == r->ndim - r->sub_ndim ? r->sub_ndim : 0;
    char ranks[GB_TEXT(GB_MAXDIMS)];
    if (given + slower != r->ndim)
        return REFUSE("layout: %s has %d entries for %d indices; give one rank for each",
                      gb_text_ranks(ranks, r->layout, given), given, r->ndim);
    uint64_t seen = 0;
    for (int i = 0; i < given; i++) {
        int32_t rank = r->layout[i];
        if (rank < 0 || rank >= given || seen & (uint64_t)1 << rank)
            return REFUSE("layout: %s is not a permutation of 0 to %d (0 = largest stride)",
                          gb_text_ranks(ranks, r->layout, given), given - 1);
        seen |= (uint64_t)1 << rank;
        p->layout[i] = rank + slower;
    }
    for (int i = 0; i < slower; i++) p->layout[given + i] = i;
    return 0;
}

static int set_aligned_index(const gb_request *r, gb_plan *p, gb_error *e) {
    char text[GB_TEXT(GB_MAXDIMS)];
    int n = r->ndim - r->sub_ndim;
    if (r->aligned_len < 0) return 0;
    if (r->aligned_len != n)
        return REFUSE("aligned_index: %s has %d entries for %d indices; give one for each",
                      gb_text_ints(text, r->aligned_index, r->aligned_len), r->aligned_len, n);
    for (int i = 0; i < n; i++) {
        if (r->aligned_index[i] < 0)
            return REFUSE("aligned_index: %s has a negative entry; entries count elements from 0",
                          gb_text_ints(text, r->aligned_index, n));
        p->aligned_index[i] = r->aligned_index[i];
    }
    return 0;
}

/* ---- a request: strides, boundary and offset ---- */

static int64_t alignment_of(const gb_request *r, const gb_preset *preset) {
    return r->alignment > 0 ? r->alignment : preset->alignment;
}

static int set_boundary(const gb_request *r, const gb_preset *preset, gb_plan *p, gb_error *e) {
    int64_t boundary = r->byte_alignment ? r->byte_alignment : p->device == GB_GPU ? 256 : 64;
    if (boundary < 1 || boundary & (boundary - 1) || boundary > GB_MAX_BYTE_ALIGNMENT)
        return REFUSE(
            "byte_alignment: %lld is not allowed; give a power of two from 1 to %lld (bytes)",
            (long long)r->byte_alignment, GB_MAX_BYTE_ALIGNMENT);
    if (r->alignment < 0 || r->alignment > GB_MAX_ALIGNMENT)
        return REFUSE("alignment: %lld items is not in the allowed range 1 to %lld",
                      (long long)r->alignment, GB_MAX_ALIGNMENT);
    if (r->padding < GB_PAD_TO_BOUNDARY)
        return REFUSE(
            "padding: %lld items is not allowed; give a number of items or one of the named values",
            (long long)r->padding);
    int64_t a = alignment_of(r, preset), item = larger(r->itemsize, 1);
    if (a > 1) {
        if (item > GB_MAX_BOUNDARY / a)
            return REFUSE("dtype: an alignment of %lld items of %lld bytes is more than the "
                          "largest boundary, %lld bytes",
                          (long long)a, (long long)item, GB_MAX_BOUNDARY);
        int64_t unit = a * item, common;
        if (__builtin_mul_overflow(unit / gb_gcd(unit, boundary), boundary, &common) ||
            common > GB_MAX_BOUNDARY)
            return REFUSE("byte_alignment: %lld and an alignment of %lld bytes meet only beyond "
                          "the largest boundary, %lld bytes",
                          (long long)boundary, (long long)unit, GB_MAX_BOUNDARY);
        boundary = common;
    }
    p->want.boundary = boundary;
    return 0;
}

static int64_t row_items(const gb_request *r, const gb_preset *preset, int64_t boundary) {
    if (r->padding == GB_PAD_AS_PRESET) return alignment_of(r, preset);
    if (r->padding == GB_PAD_TO_BOUNDARY)
        return boundary / gb_gcd(boundary, larger(r->itemsize, 1));
    return r->padding;
}

static int too_big(const gb_request *r, gb_error *e) {
    char shape[GB_TEXT(GB_MAXDIMS)];
    return REFUSE("shape: %s of %lld-byte items is larger than any memory (2^63 bytes)",
                  gb_text_ints(shape, r->shape, r->ndim), (long long)r->itemsize);
}

static int set_strides(const gb_request *r, const gb_preset *preset, gb_plan *p, gb_error *e) {
    if (set_boundary(r, preset, p, e) < 0) return -1;
    int64_t row = row_items(r, preset, p->want.boundary), span = r->itemsize, size = 1;
    int n = r->ndim, empty = 0, by_rank[GB_MAXDIMS];
    for (int i = 0; i < n; i++) by_rank[p->layout[i]] = i;
    for (int rank = n - 1; rank >= 0; rank--) {
        int i = by_rank[rank];
        int64_t d = r->shape[i], padded = d;
        if (d < 0) {
            char shape[GB_TEXT(GB_MAXDIMS)];
            return REFUSE("shape: %s has a negative entry; sizes are 0 or more",
                          gb_text_ints(shape, r->shape, n));
        }
        if (rank == n - 1 && row > 1) {
            if (d > INT64_MAX - row) return too_big(r, e);
            padded = (d + row - 1) / row * row;
        }
        empty |= d == 0;
        p->padded_shape[i] = padded;
        p->geometry.strides[i] = span;
        if (__builtin_mul_overflow(span, larger(padded, 1), &span) ||
            __builtin_mul_overflow(size, larger(d, 1), &size))
            return too_big(r, e);
    }
    if (empty) span = 0; /* nothing is read or written, however far the strides reach */
    if (span > INT64_MAX / 2 - 2 * GB_MAX_BOUNDARY) return too_big(r, e);
    p->want.span = span;
    return 0;
}

/* Element 0 lies so that the aligned element is on the boundary. */
static void set_offset(gb_plan *p) {
    uint64_t b = (uint64_t)p->want.boundary, distance = 0;
    for (int i = 0; i < p->geometry.ndim; i++) {
        uint64_t a = (uint64_t)p->aligned_index[i], stride = (uint64_t)p->geometry.strides[i];
        if (!a) continue;
        if (b & (b - 1))
            distance = (distance + (uint64_t)((unsigned __int128)(a % b) * (stride % b) % b)) % b;
        else distance += a * stride; /* a power of two divides 2^64 */
    }
    if ((b & (b - 1)) == 0) distance &= b - 1;
    p->want.offset = (int64_t)(distance ? b - distance : 0);
}

int gb_plan_request(const gb_request *r, const gb_preset *preset, gb_plan *p, gb_error *e) {
    if (r->ndim > GB_MAXDIMS)
        return REFUSE("shape: %d dimensions; at most %d are allowed", r->ndim, GB_MAXDIMS);
    if (r->sub_ndim < 0 || r->sub_ndim > r->ndim)
        return REFUSE("dtype: a sub-shape of %d indices in a shape of %d", r->sub_ndim, r->ndim);
    if (r->itemsize < 0) return REFUSE("dtype: items of %lld bytes", (long long)r->itemsize);
    if (r->device < 0 || r->device >= GB_DEVICES)
        return REFUSE("device: %d is not known", r->device);
    if (r->memory < 0 || r->memory >= GB_MEMORIES)
        return REFUSE("memory: %d is not known", r->memory);
    gb_geometry *g = &p->geometry;
    memcpy(g->shape, r->shape, sizeof *g->shape * (size_t)r->ndim);
    g->itemsize = r->itemsize;
    p->device = r->device ? r->device : preset->device ? preset->device : GB_CPU;
    p->device_id = r->device_id;
    p->memory = r->memory;
    if (set_dims(r, p, e) < 0 || set_layout(r, preset, p, e) < 0 ||
        set_aligned_index(r, p, e) < 0 || set_strides(r, preset, p, e) < 0)
        return -1;
    set_offset(p);
    if (p->memory == GB_PINNED) { /* laid out as the preset's device wants it, but on the host */
        p->device = GB_CPU;
        p->device_id = 0;
    }
    p->want.reserve = gb_heap_reserve(p->want.span, p->want.boundary);
    return 0;
}
