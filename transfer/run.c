/* run.c: carrying out a range of a job's tiles. */
#include "kernels.h"
#include "../alloc/strides.h"

#define PIECE 512 /* elements converted at a time; their buffers stay in the first cache */

/* Write n elements that lie dense in memory to where they belong, converted if need be. */
static void write_run(const gb_copy_job *job, char *dst, int64_t step, const char *src, int64_t n) {
    int64_t item = job->dst_item;
    if (!job->cast) {
        if (step != item) gb_move_strided(dst, step, src, item, n, item);
        else if (job->stream) gb_copy_kernels_here->stream(dst, src, n * item);
        else gb_copy_kernels_here->copy(dst, src, n * item);
        return;
    }
    if (step == item && !job->stream) {
        job->cast(dst, src, n);
        return;
    }
    _Alignas(64) char converted[PIECE * 16];
    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t m = n - i < PIECE ? n - i : PIECE;
        job->cast(converted, src + i * job->src_item, m);
        if (step != item) gb_move_strided(dst + i * step, step, converted, item, m, item);
        else gb_copy_kernels_here->stream(dst + i * step, converted, m * item);
    }
}

static void convert_row(const gb_copy_job *job, char *dst, const char *src, int64_t n) {
    if (job->a.src == job->src_item) {
        write_run(job, dst, job->a.dst, src, n);
        return;
    }
    _Alignas(64) char gathered[PIECE * 16];
    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t m = n - i < PIECE ? n - i : PIECE;
        gb_move_strided(gathered, job->src_item, src + i * job->a.src, job->a.src, m,
                        job->src_item);
        write_run(job, dst + i * job->a.dst, job->a.dst, gathered, m);
    }
}

static void repeat_row(const gb_copy_job *job, char *dst, const char *src, int64_t n) {
    char value[64];
    int64_t item = job->dst_item;
    if (job->cast) job->cast(value, src, 1);
    else memcpy(value, src, (size_t)item);
    if (job->a.dst != item) {
        gb_move_strided(dst, job->a.dst, value, 0, n, item);
        return;
    }
    if (n * item < 64) {
        for (int64_t i = 0; i < n; i++) memcpy(dst + i * item, value, (size_t)item);
        return;
    }
    for (int64_t have = item; have < 64; have *= 2) memcpy(value + have, value, (size_t)have);
    gb_copy_kernels_here->fill(dst, value, n * item);
}

/* ---- transposed tiles ---- */

/* Read n_a runs of n_b elements into the columns of scratch memory. */
static void read_runs(const gb_copy_job *job, char *scratch, int64_t pitch, const char *src,
                      const int64_t *at, int64_t n_a, int64_t n_b) {
    int64_t item = job->src_item;
    if (item <= 16 && !(item & (item - 1)) && job->b.src == item) {
        int kernel = __builtin_ctzll((uint64_t)item);
        gb_copy_kernels_here->transpose[kernel](scratch, pitch, src, at, n_a, n_b);
        return;
    }
    for (int64_t i = 0; i < n_a; i++)
        gb_move_strided(scratch + i * item, pitch, src + at[i], job->b.src, n_b, item);
}

static void transpose_tile(const gb_copy_job *job, char *dst, const char *src, int64_t n_a,
                           int64_t n_b) {
    _Alignas(GB_COPY_LINE) char scratch[GB_COPY_SCRATCH];
    int64_t pitch = gb_copy_pitch(n_a, job->src_item);
    read_runs(job, scratch, pitch, src, job->src_at, n_a, n_b);
    if (!job->cast && job->a.dst == job->dst_item) {
        gb_copy_kernels_here->put(dst, job->dst_at, scratch, pitch, n_b, n_a * job->dst_item);
        return;
    }
    for (int64_t b = 0; b < n_b; b++)
        write_run(job, dst + job->dst_at[b], job->a.dst, scratch + b * pitch, n_a);
}

static void tile(const gb_copy_job *job, char *dst, const char *src, int64_t n_a, int64_t n_b) {
    const gb_copy_side *a = &job->a, *b = &job->b;
    switch (job->kind) {
    case GB_COPY_TRANSPOSE: transpose_tile(job, dst, src, n_a, n_b); break;
    case GB_COPY_MOVE:
        for (int64_t i = 0; i < n_b; i++) {
            if (job->stream)
                gb_copy_kernels_here->stream(dst + i * b->dst, src + i * b->src,
                                             n_a * job->dst_item);
            else
                gb_copy_kernels_here->copy(dst + i * b->dst, src + i * b->src, n_a * job->dst_item);
        }
        break;
    case GB_COPY_STRIDED:
        for (int64_t i = 0; i < n_b; i++)
            gb_move_strided(dst + i * b->dst, a->dst, src + i * b->src, a->src, n_a, job->dst_item);
        break;
    case GB_COPY_CONVERT:
        for (int64_t i = 0; i < n_b; i++) convert_row(job, dst + i * b->dst, src + i * b->src, n_a);
        break;
    case GB_COPY_REPEAT:
        for (int64_t i = 0; i < n_b; i++) repeat_row(job, dst + i * b->dst, src + i * b->src, n_a);
        break;
    case GB_COPY_FILL:
        for (int64_t i = 0; i < n_b; i++) {
            if (job->stream)
                gb_copy_kernels_here->fill_stream(dst + i * b->dst, job->value,
                                                  n_a * job->dst_item);
            else gb_copy_kernels_here->fill(dst + i * b->dst, job->value, n_a * job->dst_item);
        }
        break;
    case GB_COPY_FILL_STRIDED:
        for (int64_t i = 0; i < n_b; i++)
            gb_move_strided(dst + i * b->dst, a->dst, job->value, 0, n_a, job->dst_item);
        break;
    case GB_COPY_SLIDE: memmove(dst, src, (size_t)n_a); break;
    }
}

/* How many elements of a side the current tile has. */
static int64_t extent(const gb_copy_side *side, const int64_t *index) {
    int64_t begin = side->loop < 0 ? 0 : index[side->loop] * side->chunk;
    int64_t steps = side->n - begin < side->chunk ? side->n - begin : side->chunk;
    return steps * side->inner;
}

/* A place in the loops. */
typedef struct cursor {
    char *dst;
    const char *src;
    int64_t index[GB_COPY_DIMS + 2];
} cursor;

static void seek(const gb_copy_job *job, cursor *c, int64_t t) {
    c->dst = job->dst;
    c->src = job->src;
    for (int i = job->loops - 1; i >= 0; i--) {
        const gb_copy_loop *l = &job->loop[i];
        c->index[i] = t % l->count;
        t /= l->count;
        c->dst += c->index[i] * l->dst_step;
        c->src += c->index[i] * l->src_step;
    }
}

static void step(const gb_copy_job *job, cursor *c) {
    for (int i = job->loops - 1; i >= 0; i--) {
        const gb_copy_loop *l = &job->loop[i];
        c->dst += l->dst_step;
        c->src += l->src_step;
        if (++c->index[i] < l->count) return;
        c->index[i] = 0;
        c->dst -= l->count * l->dst_step;
        c->src -= l->count * l->src_step;
    }
}

/* ---- transposed tiles, streamed ----
 *
 * A line of which a part goes through the caches takes twice as long as one that is streamed whole.
 * So a tile's rows begin and end where lines of the target do, also beyond the end of an axis that
 * another row follows without a gap; and its runs where lines of the source do. */

typedef struct streamed_tile {
    char *dst; /* of the chunk's first element */
    const char *src;
    int64_t first_run, end_run; /* counted from the chunk's first, as rows are */
    int64_t first_row, end_row;
    int64_t n_a, limit; /* runs of the chunk, and runs that there are */
    int head_at_line, tail_at_line;
    const int64_t *at; /* where the runs begin, from src on */
    int64_t beyond_at[GB_COPY_RUN];
} streamed_tile;

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

/* Elements from p up to the first line that begins there or later. */
static int64_t to_line(const char *p, int64_t item) {
    int64_t bytes = (int64_t)(-(uintptr_t)p & (GB_COPY_LINE - 1));
    return (bytes + item - 1) / item;
}

/* The elements of row i that the tile writes, counted as its runs are. */
static void row_part(const gb_copy_job *job, const streamed_tile *t, int64_t i, int64_t *begin,
                     int64_t *end) {
    const char *row = t->dst + job->dst_at[i];
    int64_t item = job->dst_item;
    *end = t->n_a;
    if (t->tail_at_line) *end = least(t->n_a + to_line(row + t->n_a * item, item), t->limit);
    *begin = t->head_at_line ? least(to_line(row, item), *end) : 0;
}

/* The runs beyond the end of the axis begin the next row. */
static void extend_runs(const gb_copy_job *job, streamed_tile *t, int64_t chunk, int64_t left) {
    int64_t next = job->loop[job->next_row].src_step;
    if (chunk) next -= chunk * job->loop[job->a.loop].src_step;
    memcpy(t->beyond_at, job->src_at, (size_t)left * sizeof *t->at);
    for (int64_t i = left; i < t->end_run; i++) t->beyond_at[i] = next + job->src_at[i - left];
    t->at = t->beyond_at;
}

static void choose_runs(const gb_copy_job *job, streamed_tile *t, const cursor *c) {
    const gb_copy_side *a = &job->a;
    int64_t chunk = a->loop < 0 ? 0 : c->index[a->loop];
    int64_t left = (a->n - chunk * a->chunk) * a->inner;
    int64_t row = job->next_row < 0 ? 0 : c->index[job->next_row];
    int64_t rows = job->next_row < 0 ? 1 : job->loop[job->next_row].count;
    t->n_a = extent(a, c->index);
    t->limit = row < rows - 1 ? INT64_MAX : left;
    t->head_at_line = job->at_lines && (chunk > 0 || row > 0);
    t->tail_at_line = job->at_lines && (t->n_a < left || row < rows - 1);
    t->at = job->src_at;
    if (job->alike) {
        row_part(job, t, 0, &t->first_run, &t->end_run);
    } else {
        int64_t most = t->n_a + GB_COPY_LINE / job->dst_item;
        t->first_run = 0;
        t->end_run = t->tail_at_line ? least(most, t->limit) : t->n_a;
    }
    if (t->end_run > left) extend_runs(job, t, chunk, left);
}

static void choose_rows(const gb_copy_job *job, streamed_tile *t, const cursor *c) {
    const gb_copy_side *b = &job->b;
    int64_t item = job->src_item, chunk = b->loop < 0 ? 0 : c->index[b->loop];
    int64_t n_b = extent(b, c->index), left = (b->n - chunk * b->chunk) * b->inner;
    t->end_row = n_b;
    if (job->at_lines) t->end_row = least(n_b + to_line(t->src + n_b * item, item), left);
    t->first_row = job->at_lines && chunk > 0 ? least(to_line(t->src, item), t->end_row) : 0;
}

static void choose_tile(const gb_copy_job *job, streamed_tile *t, const cursor *c) {
    t->dst = c->dst;
    t->src = c->src;
    choose_runs(job, t, c);
    choose_rows(job, t, c);
}

/* Lines of a tile's source that are on their way into the cache, one run after the other. */
typedef struct fetch {
    const char *src;
    const int64_t *at;
    int64_t runs, width; /* runs that are left, and bytes of each */
    int64_t byte;        /* of the first run: the next line */
} fetch;

static fetch fetch_of(const gb_copy_job *job, const streamed_tile *t) {
    return (fetch){
        .src = t->src + t->first_row * job->b.src,
        .at = t->at + t->first_run,
        .runs = t->end_run - t->first_run,
        .width = (t->end_row - t->first_row) * job->b.src,
    };
}

static int64_t lines_of(const fetch *f) {
    return (f->width + GB_COPY_LINE - 1) / GB_COPY_LINE * f->runs;
}

static void fetch_lines(fetch *f, int64_t lines) {
    for (; lines > 0 && f->runs > 0; lines--) {
        __builtin_prefetch(f->src + *f->at + f->byte);
        f->byte += GB_COPY_LINE;
        if (f->byte < f->width) continue;
        f->byte = 0;
        f->at++;
        f->runs--;
    }
}

/* Write a tile out of scratch memory while the next one is fetched. */
static void write_tile(const gb_copy_job *job, const streamed_tile *t, const char *scratch,
                       int64_t pitch, const streamed_tile *next) {
    fetch f = fetch_of(job, next);
    int64_t rows = t->end_row - t->first_row, lines = lines_of(&f);
    for (int64_t i = t->first_row; i < t->end_row; i++, scratch += pitch) {
        int64_t begin, end;
        fetch_lines(&f, lines / rows + 1);
        row_part(job, t, i, &begin, &end);
        write_run(job, t->dst + job->dst_at[i] + begin * job->dst_item, job->dst_item,
                  scratch + (begin - t->first_run) * job->src_item, end - begin);
    }
}

static void run_streamed(const gb_copy_job *job, cursor *c, int64_t first, int64_t end) {
    _Alignas(GB_COPY_LINE) char scratch[GB_COPY_SCRATCH];
    streamed_tile tiles[2]; /* the one at work and the next */
    choose_tile(job, &tiles[first & 1], c);
    for (int64_t i = first; i < end; i++) {
        const streamed_tile *t = &tiles[i & 1];
        streamed_tile *next = &tiles[~i & 1];
        int64_t runs = t->end_run - t->first_run, pitch = gb_copy_pitch(runs, job->src_item);
        read_runs(job, scratch, pitch, t->src + t->first_row * job->b.src, t->at + t->first_run,
                  runs, t->end_row - t->first_row);
        step(job, c);
        choose_tile(job, next, c);
        write_tile(job, t, scratch, pitch, next);
    }
    gb_copy_stream_fence();
}

void gb_copy_job_run(const gb_copy_job *job, int64_t first, int64_t end) {
    cursor c;
    if (first >= end) return;
    if (job->ordered) {
        for (int64_t t = first; t < end; t++) {
            seek(job, &c, job->backward ? job->tiles - 1 - t : t);
            tile(job, c.dst, c.src, extent(&job->a, c.index), 1);
        }
        return;
    }
    seek(job, &c, first);
    if (job->stream && job->kind == GB_COPY_TRANSPOSE) {
        run_streamed(job, &c, first, end);
        return;
    }
    for (int64_t t = first; t < end; t++) {
        char *dst = c.dst;
        const char *src = c.src;
        int64_t n_a = extent(&job->a, c.index), n_b = extent(&job->b, c.index);
        step(job, &c);
        tile(job, dst, src, n_a, n_b);
    }
    if (job->stream) gb_copy_stream_fence();
}
