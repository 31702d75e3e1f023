/* plan.c: how a copy is done: in rows, transposed through a scratch buffer, or as a fill; cut into tiles. */
#include "axes.h"
#include "job.h"
#include "kernels.h"

static int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static int add_loop(gb_copy_job *job, int64_t count, int64_t dst_step, int64_t src_step) {
    if (count == 1) return -1;
    job->loop[job->loops] = (gb_copy_loop){count, dst_step, src_step};
    return job->loops++;
}

static void count_tiles(gb_copy_job *job) {
    job->tiles = 1;
    for (int i = 0; i < job->loops; i++) job->tiles *= job->loop[i].count;
}

/* ---- rows: the fastest axis is the same on both sides, or the source repeats along it ---- */

/* About this many bytes of the target a tile: enough work to be worth a call, little enough to come back soon. */
#define ROW_TILE (64 << 10)

static void plan_rows(gb_copy_job *job, const gb_copy_axes *axes) {
    gb_copy_axis one = {1, 0, 0};
    int n = axes->n;
    const gb_copy_axis *a = n > 0 ? &axes->axis[n - 1] : &one, *b = n > 1 ? &axes->axis[n - 2] : &one;
    int64_t room = ROW_TILE / job->dst_item;
    job->a = (gb_copy_side){.n = a->n, .inner = 1, .dst = a->dst, .src = a->src, .loop = -1};
    job->b = (gb_copy_side){.n = b->n, .inner = 1, .dst = b->dst, .src = b->src, .loop = -1};
    job->a.chunk = a->n <= room + room / 2 ? a->n : room;
    int64_t rows = room / job->a.chunk;
    job->b.chunk = rows < 1 ? 1 : rows < b->n ? rows : b->n;
    for (int i = 0; i < n - 2; i++) add_loop(job, axes->axis[i].n, axes->axis[i].dst, axes->axis[i].src);
    job->b.loop = add_loop(job, (b->n - 1) / job->b.chunk + 1, job->b.chunk * b->dst, job->b.chunk * b->src);
    job->a.loop = add_loop(job, (a->n - 1) / job->a.chunk + 1, job->a.chunk * a->dst, job->a.chunk * a->src);
    int dense = n == 0 || a->dst == job->dst_item;
    if (n > 0 && a->src == 0) job->kind = GB_COPY_REPEAT;
    else if (job->cast) job->kind = GB_COPY_CONVERT;
    else job->kind = dense && (n == 0 || a->src == job->src_item) ? GB_COPY_MOVE : GB_COPY_STRIDED;
}

/* ---- transposed: the source's fastest axis is another than the target's ---- */

static int fastest_of_source(const gb_copy_axes *axes) {
    int s = -1;
    for (int i = axes->n - 1; i >= 0; i--)
        if (axes->axis[i].src && (s < 0 || llabs(axes->axis[i].src) < llabs(axes->axis[s].src))) s = i;
    return s;
}

/* Cut a side whose last axis has n steps of `inner` elements each, about `run` elements a chunk. */
static void cut(gb_copy_side *side, int64_t n, int64_t run, int64_t line) {
    side->n = n;
    if (n * side->inner <= run + run / 2) {
        side->chunk = n;
        return;
    }
    int64_t wanted = run / side->inner > 1 ? run / side->inner : 1;
    int64_t pieces = (n + wanted / 2) / wanted;
    side->chunk = (n - 1) / (pieces > 1 ? pieces : 1) + 1;
    if (side->inner == 1) side->chunk = up(side->chunk, line);
}

/* How long a tile's runs are on either side, by itemsize: lines are used whole and the scratch stays in the first cache. */
static int64_t run_of(int64_t item, int side_a) {
    switch (item) {
    case 1: return side_a ? 128 : 64;
    case 2: case 4: case 8: return side_a ? 128 : 32;   /* 64x32, 96x32, 128x16 and 64x64 of 8 bytes are 4 to 10 % slower */
    case 16: return side_a ? 64 : 16;
    }
    return item < 32 ? 256 / item < 64 ? 256 / item : 64 : 8;
}

static void plan_transposed(gb_copy_job *job, gb_copy_axes *axes, int s) {
    int d = axes->n - 1, last_a = d, last_b = s;
    char used[GB_COPY_DIMS + 1] = {0};
    used[d] = used[s] = 1;
    if (axes->axis[s].src < 0) gb_copy_axis_flip(axes, s);
    gb_copy_side *a = &job->a, *b = &job->b;
    *a = (gb_copy_side){.inner = 1, .dst = axes->axis[d].dst, .src = axes->axis[d].src};
    *b = (gb_copy_side){.inner = 1, .dst = axes->axis[s].dst, .src = axes->axis[s].src};
    int64_t item = job->src_item, run_a = run_of(item, 1), run_b = run_of(item, 0);
    job->src_at[0] = job->dst_at[0] = 0;
    int64_t line = item & (item - 1) || item > 64 ? 1 : 64 / item;

    /* Short axes: neighbours that continue them in memory join the run, inner ones whole. */
    for (int i = axes->n - 1; i >= 0; i--) {
        int64_t reach = b->inner * axes->axis[last_b].n;
        if (reach >= run_b) break;
        if (used[i] || llabs(axes->axis[i].src) != b->src * reach) continue;
        if (axes->axis[i].src < 0) gb_copy_axis_flip(axes, i);
        for (int64_t j = b->inner; j < reach; j++)
            job->dst_at[j] = job->dst_at[j % b->inner] + j / b->inner * axes->axis[last_b].dst;
        b->inner = reach;
        used[i] = 1;
        last_b = i;
        i = axes->n;
    }
    for (int i = axes->n - 1; i >= 0; i--) {
        int64_t reach = a->inner * axes->axis[last_a].n;
        if (reach >= run_a) break;
        if (used[i] || axes->axis[i].dst != a->dst * reach) continue;
        for (int64_t j = a->inner; j < reach; j++)
            job->src_at[j] = job->src_at[j % a->inner] + j / a->inner * axes->axis[last_a].src;
        a->inner = reach;
        used[i] = 1;
        last_a = i;
        i = axes->n;
    }
    cut(a, axes->axis[last_a].n, run_a, line);
    cut(b, axes->axis[last_b].n, run_b, line);
    for (int64_t j = a->inner; j < a->inner * a->chunk; j++)
        job->src_at[j] = job->src_at[j % a->inner] + j / a->inner * axes->axis[last_a].src;
    for (int64_t j = b->inner; j < b->inner * b->chunk; j++)
        job->dst_at[j] = job->dst_at[j % b->inner] + j / b->inner * axes->axis[last_b].dst;

    /* Walk through the source: few streams of reads, which the processor foresees. */
    gb_copy_axis loop[GB_COPY_DIMS + 2];
    int n = 0, which[GB_COPY_DIMS + 2];
    for (int i = 0; i < axes->n + 2; i++) {
        gb_copy_axis x;
        if (i < axes->n) {
            if (used[i]) continue;
            x = axes->axis[i];
        } else {
            const gb_copy_side *side = i == axes->n ? a : b;
            const gb_copy_axis *axis = &axes->axis[i == axes->n ? last_a : last_b];
            x = (gb_copy_axis){(side->n - 1) / side->chunk + 1, side->chunk * axis->dst, side->chunk * axis->src};
        }
        int at = n++;
        for (; at > 0 && llabs(loop[at - 1].src) < llabs(x.src); at--) loop[at] = loop[at - 1], which[at] = which[at - 1];
        loop[at] = x;
        which[at] = i - axes->n;
    }
    a->loop = b->loop = -1;
    for (int i = 0; i < n; i++) {
        int at = add_loop(job, loop[i].n, loop[i].dst, loop[i].src);
        if (which[i] == 0) a->loop = at;
        if (which[i] == 1) b->loop = at;
    }
    job->kind = GB_COPY_TRANSPOSE;
}

/* Short dense rows whose other axes are transposed move as one element each. */
static void absorb_row(gb_copy_axes *axes) {
    if (axes->n < 3) return;
    const gb_copy_axis *row = &axes->axis[axes->n - 1];
    int64_t bytes = row->n * axes->item;
    if (row->dst != axes->item || row->src != axes->item || bytes > 64) return;
    gb_copy_axes rest = *axes;
    rest.n--;
    int s = fastest_of_source(&rest);
    if (s < 0 || s == rest.n - 1 || rest.axis[rest.n - 1].src == 0) return;
    *axes = rest;
    axes->item = bytes;
}

/* ---- a fill: nothing in the source moves ---- */

static int plan_fill(gb_copy_job *job, const gb_copy_axes *axes) {
    if (job->dst_item > 64 || (job->dst_item & (job->dst_item - 1))) return 0;
    for (int i = 0; i < axes->n; i++)
        if (axes->axis[i].src) return 0;
    if (axes->n == 0) return 0;
    if (job->cast) job->cast(job->value, axes->src, 1);
    else memcpy(job->value, axes->src, (size_t)job->dst_item);
    for (int64_t have = job->dst_item; have < 64; have *= 2) memcpy(job->value + have, job->value, (size_t)have);
    plan_rows(job, axes);
    job->kind = job->a.dst == job->dst_item ? GB_COPY_FILL : GB_COPY_FILL_STRIDED;
    return 1;
}

/* ---- overlap in one direction ---- */

#define SHIFT_PIECE (256 << 10)

static void plan_shift(gb_copy_job *job, const gb_copy_axes *axes) {
    gb_copy_axis row = {1, job->dst_item, job->dst_item};
    if (axes->n) row = axes->axis[axes->n - 1];
    int64_t bytes = row.n * job->dst_item;
    for (int i = 0; i < axes->n - 1; i++) add_loop(job, axes->axis[i].n, axes->axis[i].dst, axes->axis[i].src);
    job->a = (gb_copy_side){.n = bytes, .inner = 1, .chunk = bytes < SHIFT_PIECE ? bytes : SHIFT_PIECE, .dst = 1, .src = 1};
    job->a.loop = add_loop(job, (bytes - 1) / job->a.chunk + 1, job->a.chunk, job->a.chunk);
    job->kind = GB_COPY_SLIDE;
    job->ordered = 1;
    job->backward = axes->dst > axes->src;
}

/* ---- all together ---- */

/* Streamed stores save reading the target's lines first, and lose where the target would have stayed in a cache. */
static int worth_streaming(const gb_copy_job *job) {
    if (job->bytes < 1 << 20) return 0;   /* in any cache */
    int64_t cache = gb_copy_shared_cache();
    switch (job->kind) {
    case GB_COPY_MOVE: case GB_COPY_CONVERT: return job->a.dst == job->dst_item && job->bytes > cache && job->a.chunk * job->dst_item >= 512;
    case GB_COPY_TRANSPOSE: return job->a.dst == job->dst_item && job->bytes > cache / 2 && job->a.inner * job->a.chunk * job->dst_item >= 128;
    case GB_COPY_FILL: return job->bytes > 4 * cache && job->a.chunk * job->dst_item >= 512;
    }
    return 0;
}

void gb_copy_job_plan(gb_copy_job *job, gb_copy_axes *axes, gb_copy_cast_fn cast, int64_t dst_item, int shift) {
    job->tiles = job->bytes = 0;
    job->loops = job->ordered = job->backward = job->stream = 0;
    job->cast = cast;
    if (axes->elements == 0) return;
    job->src_item = axes->item;
    job->dst_item = cast ? dst_item : axes->item;
    job->bytes = axes->elements * (job->src_item + job->dst_item);
    if (shift) {
        plan_shift(job, axes);
    } else if (!plan_fill(job, axes)) {
        if (!cast) {
            absorb_row(axes);
            job->dst_item = job->src_item = axes->item;
        }
        int d = axes->n - 1, s = fastest_of_source(axes);
        if (s >= 0 && s != d && axes->axis[d].src && llabs(axes->axis[s].src) < llabs(axes->axis[d].src))
            plan_transposed(job, axes, s);
        else
            plan_rows(job, axes);
    }
    job->dst = axes->dst;
    job->src = axes->src;
    count_tiles(job);
    job->stream = worth_streaming(job);
}
