/* plan.c: how a copy is done: in rows, transposed through a scratch buffer, or as a fill; cut into
 * tiles. */
#include "axes.h"
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

/* About this many bytes of the target a tile: enough work to be worth a call, little enough to come
 * back soon. */
#define ROW_TILE (64 << 10)

static void plan_rows(gb_copy_job *job, const gb_copy_axes *axes) {
    gb_copy_axis one = {1, 0, 0};
    int n = axes->n;
    const gb_copy_axis *a = n > 0 ? &axes->axis[n - 1] : &one,
                       *b = n > 1 ? &axes->axis[n - 2] : &one;
    int64_t room = ROW_TILE / job->dst_item;
    job->a = (gb_copy_side){.n = a->n, .inner = 1, .dst = a->dst, .src = a->src, .loop = -1};
    job->b = (gb_copy_side){.n = b->n, .inner = 1, .dst = b->dst, .src = b->src, .loop = -1};
    job->a.chunk = a->n <= room + room / 2 ? a->n : room;
    int64_t rows = room / job->a.chunk;
    job->b.chunk = rows < 1 ? 1 : rows < b->n ? rows : b->n;
    for (int i = 0; i < n - 2; i++)
        add_loop(job, axes->axis[i].n, axes->axis[i].dst, axes->axis[i].src);
    job->b.loop =
        add_loop(job, (b->n - 1) / job->b.chunk + 1, job->b.chunk * b->dst, job->b.chunk * b->src);
    job->a.loop =
        add_loop(job, (a->n - 1) / job->a.chunk + 1, job->a.chunk * a->dst, job->a.chunk * a->src);
    int dense = n == 0 || a->dst == job->dst_item;
    if (n > 0 && a->src == 0) job->kind = GB_COPY_REPEAT;
    else if (job->cast) job->kind = GB_COPY_CONVERT;
    else job->kind = dense && (n == 0 || a->src == job->src_item) ? GB_COPY_MOVE : GB_COPY_STRIDED;
}

/* ---- transposed: the source's fastest axis is another than the target's ---- */

static int fastest_of_source(const gb_copy_axes *axes) {
    int s = -1;
    for (int i = axes->n - 1; i >= 0; i--)
        if (axes->axis[i].src && (s < 0 || llabs(axes->axis[i].src) < llabs(axes->axis[s].src)))
            s = i;
    return s;
}

/* Distance of neighbours along an axis, on a side's own memory and on the other one. */
static int64_t along(const gb_copy_axis *x, int of_source) {
    return of_source ? llabs(x->src) : x->dst;
}

static int64_t across(const gb_copy_axis *x, int of_source) { return of_source ? x->dst : x->src; }

/* The axis, not in use yet, whose neighbours are so far apart; -1: there is none. */
static int axis_at(const gb_copy_axes *axes, const char *used, int64_t distance, int of_source) {
    for (int i = axes->n - 1; i >= 0; i--)
        if (!used[i] && along(&axes->axis[i], of_source) == distance) return i;
    return -1;
}

/* Elements `from` to `end` of a run repeat its first `from`, one step of an axis further each. */
static void repeat_places(int64_t *place, int64_t from, int64_t end, int64_t step) {
    for (int64_t j = from; j < end; j++) place[j] = place[j % from] + j / from * step;
}

/* Short axes: neighbours that continue them in memory join a side's run until it is long enough,
 * inner ones whole. place[j] is how far the run's element j lies from its first on the other side.
 * Returns the axis that the run is cut along. */
static int join_run(gb_copy_side *side, gb_copy_axes *axes, char *used, int first, int64_t run,
                    int of_source, int64_t *place) {
    int last = first;
    side->inner = 1;
    place[0] = 0;
    for (;;) {
        const gb_copy_axis *x = &axes->axis[last];
        int64_t reach = side->inner * x->n;
        int next = -1;
        int64_t distance = along(&axes->axis[first], of_source) * reach;
        if (reach < run) next = axis_at(axes, used, distance, of_source);
        if (next < 0) return last;
        if (axes->axis[next].src < 0 && of_source) gb_copy_axis_flip(axes, next);
        repeat_places(place, side->inner, reach, across(x, of_source));
        side->inner = reach;
        used[next] = 1;
        last = next;
    }
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

/* How many elements a tile's runs have: a quarter of a KiB of the source, half a KiB of the target.
 * Shorter ones waste what a processor fetches by itself, longer ones leave the first cache. */
static int64_t run_of_source(int64_t item) {
    if (item > 16) return item < 32 ? 256 / item : 8;
    return item < 4 ? 64 : 256 / item;
}

static int64_t run_of_target(int64_t item) {
    if (item > 16) return item < 32 ? 256 / item : 8;
    return item < 2 ? 256 : 512 / item;
}

/* Elements of a line; 1 where lines do not begin at elements. */
static int64_t line_of(int64_t item) { return GB_COPY_LINE % item ? 1 : GB_COPY_LINE / item; }

/* Cut a tile's runs and rows so that it fits into scratch memory, with a line more on either side:
 * a tile that is cut at lines may be that much longer. */
static void cut_tile(gb_copy_job *job, int64_t n_a, int64_t n_b, int64_t run_a, int64_t run_b) {
    gb_copy_side *a = &job->a, *b = &job->b;
    int64_t line_a = line_of(job->dst_item), line_b = line_of(job->src_item);
    cut(a, n_a, run_a, line_a);
    cut(b, n_b, run_b, line_b);
    int64_t pitch = gb_copy_pitch(a->inner * a->chunk + line_a, job->src_item);
    int64_t fit = (GB_COPY_SCRATCH / pitch - line_b) / b->inner;
    if (b->chunk <= fit) return;
    b->chunk = b->inner == 1 ? fit - fit % line_b : fit;
}

/* Whether lines begin at elements, and as many elements after each chunk of either side. */
static int lines_fit(const gb_copy_job *job) {
    const gb_copy_side *a = &job->a, *b = &job->b;
    int64_t row = a->loop < 0 ? 0 : a->inner * a->chunk * job->dst_item;
    int64_t run = b->loop < 0 ? 0 : b->inner * b->chunk * job->src_item;
    return GB_COPY_LINE % job->dst_item == 0 && GB_COPY_LINE % job->src_item == 0 &&
           row % GB_COPY_LINE == 0 && run % GB_COPY_LINE == 0 && b->src == job->src_item;
}

static int rows_alike(const gb_copy_job *job, int64_t rows) {
    for (int64_t i = 1; i < rows; i++)
        if (job->dst_at[i] % GB_COPY_LINE) return 0;
    return 1;
}

/* The loop over a side's chunks; its number among the job's loops goes to *number. */
typedef struct tile_loop {
    gb_copy_axis axis;
    int *number;
} tile_loop;

/* Insert a loop so that the source's strides descend; equal ones keep their order. */
static int insert_loop(tile_loop *loop, int n, tile_loop x) {
    int at = n;
    for (; at > 0 && llabs(loop[at - 1].axis.src) < llabs(x.axis.src); at--)
        loop[at] = loop[at - 1];
    loop[at] = x;
    return n + 1;
}

static tile_loop over_chunks(gb_copy_side *side, const gb_copy_axis *axis) {
    int64_t chunk = side->chunk;
    gb_copy_axis chunks = {(side->n - 1) / chunk + 1, chunk * axis->dst, chunk * axis->src};
    return (tile_loop){chunks, &side->loop};
}

/* Walk through the source: few streams of reads, which the processor foresees. */
static void order_loops(gb_copy_job *job, const gb_copy_axes *axes, const char *used, int last_a,
                        int last_b) {
    tile_loop loop[GB_COPY_DIMS + 2];
    int n = 0, unnamed;
    int rows = axis_at(axes, used, job->a.dst * job->a.inner * job->a.n, 0);
    job->next_row = -1;
    for (int i = 0; i < axes->n; i++) {
        tile_loop x = {axes->axis[i], i == rows ? &job->next_row : &unnamed};
        if (!used[i]) n = insert_loop(loop, n, x);
    }
    n = insert_loop(loop, n, over_chunks(&job->a, &axes->axis[last_a]));
    n = insert_loop(loop, n, over_chunks(&job->b, &axes->axis[last_b]));
    for (int i = 0; i < n; i++)
        *loop[i].number = add_loop(job, loop[i].axis.n, loop[i].axis.dst, loop[i].axis.src);
}

/* The two axes of a tile: the target's fastest and s, the source's. */
static void plan_transposed(gb_copy_job *job, gb_copy_axes *axes, int s) {
    int d = axes->n - 1;
    char used[GB_COPY_DIMS + 1] = {0};
    gb_copy_side *a = &job->a, *b = &job->b;
    if (axes->axis[s].src < 0) gb_copy_axis_flip(axes, s);
    a->dst = axes->axis[d].dst;
    a->src = axes->axis[d].src;
    b->dst = axes->axis[s].dst;
    b->src = axes->axis[s].src;
    used[d] = used[s] = 1;

    int64_t run_b = run_of_source(job->src_item);
    int last_b = join_run(b, axes, used, s, run_b, 1, job->dst_at);
    int64_t reach = b->inner * axes->axis[last_b].n;

    int64_t run_a = run_of_target(job->dst_item);
    int64_t most = run_of_target(job->src_item) * 64 / run_b;
    if (run_a > most) run_a = most; /* scratch memory has room for no more */
    if (2 * reach <= run_b && run_a <= 128) run_a *= 2;
    if (reach * b->src == a->src && reach <= 128) run_b = reach; /* runs that adjoin: one stream */
    int last_a = join_run(a, axes, used, d, run_a, 0, job->src_at);

    cut_tile(job, axes->axis[last_a].n, axes->axis[last_b].n, run_a, run_b);
    int64_t runs = a->inner * a->chunk + line_of(job->dst_item);
    int64_t rows = b->inner * b->chunk + line_of(job->src_item);
    repeat_places(job->src_at, a->inner, runs, axes->axis[last_a].src);
    repeat_places(job->dst_at, b->inner, rows, axes->axis[last_b].dst);
    order_loops(job, axes, used, last_a, last_b);
    job->at_lines = lines_fit(job);
    job->alike = rows_alike(job, rows);
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
    for (int64_t have = job->dst_item; have < 64; have *= 2)
        memcpy(job->value + have, job->value, (size_t)have);
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
    for (int i = 0; i < axes->n - 1; i++)
        add_loop(job, axes->axis[i].n, axes->axis[i].dst, axes->axis[i].src);
    job->a = (gb_copy_side){.n = bytes,
                            .inner = 1,
                            .chunk = bytes < SHIFT_PIECE ? bytes : SHIFT_PIECE,
                            .dst = 1,
                            .src = 1};
    job->a.loop = add_loop(job, (bytes - 1) / job->a.chunk + 1, job->a.chunk, job->a.chunk);
    job->kind = GB_COPY_SLIDE;
    job->ordered = 1;
    job->backward = axes->dst > axes->src;
}

/* ---- all together ---- */

/* Streamed stores save reading the target's lines first, and lose where the target would have
 * stayed in a cache, or lines are not written whole. */
static int worth_streaming(const gb_copy_job *job) {
    int64_t cache = gb_copy_shared_cache(), item = job->dst_item;
    int64_t written = job->bytes / (job->src_item + item) * item;
    if (job->a.dst != item) return 0;
    switch (job->kind) {
    case GB_COPY_MOVE:
    case GB_COPY_CONVERT: return job->bytes > cache && job->a.chunk * item >= 512;
    case GB_COPY_TRANSPOSE:
        return job->bytes > cache / 2 && job->a.inner * job->a.n * item >= 2 * GB_COPY_LINE;
    case GB_COPY_FILL: return written > cache && job->a.chunk * item >= 512;
    }
    return 0;
}

void gb_copy_job_plan(gb_copy_job *job, gb_copy_axes *axes, gb_copy_cast_fn cast, int64_t dst_item,
                      int shift) {
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
        if (s >= 0 && s != d && axes->axis[d].src &&
            llabs(axes->axis[s].src) < llabs(axes->axis[d].src))
            plan_transposed(job, axes, s);
        else plan_rows(job, axes);
    }
    job->dst = axes->dst;
    job->src = axes->src;
    count_tiles(job);
    job->stream = worth_streaming(job);
}
