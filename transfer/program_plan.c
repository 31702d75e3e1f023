/* program_plan.c: what an entry needs, worked out once: axes merged and sorted, the kind of loop,
 * long entries cut. */
#include "program.h"

#define PIECE \
    (256      \
     << 10) /* bytes of the target in an entry: a share worth a thread's while, and some 20 us */
#define BASE      \
    ((uintptr_t)1 \
     << 62) /* offsets as addresses, for gb_copy_axes_of: they stay below 2^61 on either side */

static int push(gb_program *program, const gb_program_entry *e) {
    if (program->n == program->room) {
        int64_t room = program->room ? 2 * program->room : 16;
        gb_program_entry *entries = realloc(program->entries, (size_t)room * sizeof *entries);
        if (!entries) return GB_COPY_NO_MEMORY;
        program->entries = entries;
        program->room = room;
    }
    program->entries[program->n++] = *e;
    program->bytes += e->bytes;
    if (e->kind == GB_PROGRAM_RUNS && e->run >= GB_PROGRAM_DENSE) program->dense += e->bytes;
    return GB_COPY_OK;
}

/* The part of an axis from `begin` on. */
static gb_program_entry part(const gb_program_entry *e, int axis, int64_t begin, int64_t n) {
    gb_program_entry p = *e;
    const gb_copy_axis *x = &e->axis[axis];
    p.dst_at += begin * x->dst;
    p.src_at += begin * x->src;
    p.bytes = e->bytes / x->n * n;
    p.axis[axis].n = n;
    return p;
}

/* Cut along the slowest axis that is long enough, else index by index along the slowest there is.
 */
static int push_in_pieces(gb_program *program, const gb_program_entry *e) {
    int64_t pieces = (e->bytes - 1) / PIECE + 1, whole = e->kind == GB_PROGRAM_TRANSPOSE ? 128 : 1;
    int slowest = -1;
    if (pieces <= 1) return push(program, e);
    for (int i = 0; i < e->n && slowest < 0; i++)
        if (e->axis[i].n > (i < e->n - 2 ? 1 : whole)) slowest = i;
    if (slowest < 0) { /* one run of bytes; cut where a sign's pattern begins anew */
        if (e->kind != GB_PROGRAM_RUNS) return push(program, e);
        int64_t step = (e->run / pieces + 4095) / 4096 * 4096;
        for (int64_t at = 0; at < e->run; at += step) {
            gb_program_entry p = *e;
            p.dst_at += at;
            p.src_at += at;
            p.run = p.bytes = e->run - at < step ? e->run - at : step;
            int rc = push(program, &p);
            if (rc != GB_COPY_OK) return rc;
        }
        return GB_COPY_OK;
    }
    int64_t n = e->axis[slowest].n, step = n / pieces > 1 ? (n - 1) / pieces + 1 : 1;
    if (slowest >= e->n - 2) step = (step + whole - 1) / whole * whole;
    for (int64_t at = 0; at < n; at += step) {
        gb_program_entry p = part(e, slowest, at, n - at < step ? n - at : step);
        int rc = p.axis[slowest].n == 1 ? push_in_pieces(program, &p) : push(program, &p);
        if (rc != GB_COPY_OK) return rc;
    }
    return GB_COPY_OK;
}

static void swap_last(gb_copy_axis *axis, int n, int s) {
    gb_copy_axis moved = axis[s];
    for (int i = s; i < n - 2; i++) axis[i] = axis[i + 1];
    axis[n - 2] = moved;
}

/* Whether tiles pay: both sides have a dense axis, other ones, of some length. The source's is
 * brought before the last. */
static int transposed(gb_copy_axes *axes) {
    int d = axes->n - 1, s = -1;
    if (axes->n < 2 || axes->axis[d].dst != axes->item || axes->axis[d].n < 8) return 0;
    for (int i = 0; i < d; i++)
        if (llabs(axes->axis[i].src) == axes->item && axes->axis[i].n >= 8) s = i;
    if (s < 0 || axes->axis[d].n * axes->axis[s].n < 256) return 0;
    if (axes->axis[s].src < 0) gb_copy_axis_flip(axes, s);
    swap_last(axes->axis, axes->n, s);
    return 1;
}

/* An entry has room for few axes; of a box with more, the slowest is walked here. */
static int push_axes(gb_program *program, gb_program_entry *e, const gb_copy_axis *axis, int n) {
    if (n <= GB_PROGRAM_AXES) {
        e->n = (uint8_t)n;
        memcpy(e->axis, axis, (size_t)n * sizeof *axis);
        return push_in_pieces(program, e);
    }
    int64_t dst_at = e->dst_at, src_at = e->src_at, bytes = e->bytes;
    e->bytes /= axis->n;
    for (int64_t i = 0; i < axis->n; i++) {
        e->dst_at = dst_at + i * axis->dst;
        e->src_at = src_at + i * axis->src;
        int rc = push_axes(program, e, axis + 1, n - 1);
        if (rc != GB_COPY_OK) return rc;
    }
    e->bytes = bytes;
    return GB_COPY_OK;
}

int gb_program_append(gb_program *program, const gb_program_copy *copy) {
    int64_t shape[GB_COPY_DIMS], dst[GB_COPY_DIMS], src[GB_COPY_DIMS], item = copy->item;
    int n = copy->ndim, add = copy->mode & GB_PROGRAM_ADD, type = copy->type;
    if (n < 0 || n > GB_COPY_DIMS - 1) return GB_COPY_BAD_VIEW;
    if (n) {
        memcpy(shape, copy->shape, (size_t)n * sizeof *shape);
        memcpy(dst, copy->dst_strides, (size_t)n * sizeof *dst);
        memcpy(src, copy->src_strides, (size_t)n * sizeof *src);
    }
    if (add && gb_type_is_complex(type)) { /* two reals */
        type = gb_type_real(type);
        item /= 2;
        shape[n] = 2, dst[n] = src[n] = item;
        n++;
    }
    if (add && !gb_program_sums(type)) return GB_COPY_NO_CAST;
    gb_copy_view to = {(char *)(BASE + (uintptr_t)copy->dst_at), item, GB_RAW, n, shape, dst};
    gb_copy_view from = {(char *)(BASE + (uintptr_t)copy->src_at), item, GB_RAW, n, shape, src};
    gb_copy_axes axes;
    int rc = gb_copy_axes_of(&axes, &to, &from);
    if (rc != GB_COPY_OK || axes.elements == 0) return rc;
    gb_program_entry e = {
        .bytes = axes.elements * axes.item,
        .dst_slot = copy->dst_slot,
        .src_slot = copy->src_slot,
        .item = (int32_t)axes.item,
        .mode = (uint8_t)copy->mode,
        .type = (uint8_t)type,
        .sign_unit = (uint8_t)copy->sign_unit,
        .sign_byte = (uint8_t)copy->sign_byte,
    };
    const gb_copy_axis *last = axes.n ? &axes.axis[axes.n - 1] : NULL;
    if (add) e.kind = GB_PROGRAM_SUMS;
    else if (!last || (last->dst == axes.item && last->src == axes.item)) {
        e.kind = GB_PROGRAM_RUNS;
        e.run = axes.item;
        if (last) e.run *= last->n, axes.n--;
    } else e.kind = transposed(&axes) ? GB_PROGRAM_TRANSPOSE : GB_PROGRAM_ELEMENTS;
    for (; axes.n < 2; axes.n++) {
        memmove(axes.axis + 1, axes.axis, (size_t)axes.n * sizeof *axes.axis);
        axes.axis[0] = (gb_copy_axis){1, 0, 0};
    }
    e.dst_at = (int64_t)((uintptr_t)axes.dst - BASE);
    e.src_at = (int64_t)((uintptr_t)axes.src - BASE);
    if (copy->mode & (GB_PROGRAM_ADD | GB_PROGRAM_CLEAR)) program->ordered = 1;
    return push_axes(program, &e, axes.axis, axes.n);
}

void gb_program_free(gb_program *program) {
    free(program->entries);
    *program = (gb_program){0};
}
