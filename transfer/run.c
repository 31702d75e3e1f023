/* run.c: carrying out a range of a job's tiles. */
#include "job.h"
#include "kernels.h"
#include "../alloc/strides.h"

#define PIECE 512   /* elements converted at a time; their buffers stay in the first cache */

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
        gb_move_strided(gathered, job->src_item, src + i * job->a.src, job->a.src, m, job->src_item);
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

/* next: where the following tile's source starts, to be on its way while this one is written. */
static void transpose_tile(const gb_copy_job *job, char *dst, const char *src, const char *next, int64_t n_a, int64_t n_b) {
    _Alignas(64) char scratch[GB_COPY_SCRATCH];
    int64_t item = job->src_item, pitch = (n_a * item + 63) & ~(int64_t)63;
    int kernel = item <= 16 && !(item & (item - 1)) ? __builtin_ctzll((uint64_t)item) : -1;
    if (kernel >= 0 && job->b.src == item)
        gb_copy_kernels_here->transpose[kernel](scratch, pitch, src, job->src_at, n_a, n_b);
    else
        for (int64_t a = 0; a < n_a; a++)
            gb_move_strided(scratch + a * item, pitch, src + job->src_at[a], job->b.src, n_b, item);
    if (!job->cast && job->a.dst == item) {
        if (job->stream) {
            gb_copy_next fetch = {next, job->src_at, n_a, n_b * job->b.src};
            gb_copy_kernels_here->put_stream(dst, job->dst_at, scratch, pitch, n_b, n_a * item, &fetch);
        } else {
            gb_copy_kernels_here->put(dst, job->dst_at, scratch, pitch, n_b, n_a * item);
        }
        return;
    }
    for (int64_t b = 0; b < n_b; b++) write_run(job, dst + job->dst_at[b], job->a.dst, scratch + b * pitch, n_a);
}

static void tile(const gb_copy_job *job, char *dst, const char *src, const char *next, int64_t n_a, int64_t n_b) {
    const gb_copy_side *a = &job->a, *b = &job->b;
    switch (job->kind) {
    case GB_COPY_TRANSPOSE:
        transpose_tile(job, dst, src, next, n_a, n_b);
        break;
    case GB_COPY_MOVE:
        for (int64_t i = 0; i < n_b; i++) {
            if (job->stream) gb_copy_kernels_here->stream(dst + i * b->dst, src + i * b->src, n_a * job->dst_item);
            else gb_copy_kernels_here->copy(dst + i * b->dst, src + i * b->src, n_a * job->dst_item);
        }
        break;
    case GB_COPY_STRIDED:
        for (int64_t i = 0; i < n_b; i++) gb_move_strided(dst + i * b->dst, a->dst, src + i * b->src, a->src, n_a, job->dst_item);
        break;
    case GB_COPY_CONVERT:
        for (int64_t i = 0; i < n_b; i++) convert_row(job, dst + i * b->dst, src + i * b->src, n_a);
        break;
    case GB_COPY_REPEAT:
        for (int64_t i = 0; i < n_b; i++) repeat_row(job, dst + i * b->dst, src + i * b->src, n_a);
        break;
    case GB_COPY_FILL:
        for (int64_t i = 0; i < n_b; i++) {
            if (job->stream) gb_copy_kernels_here->fill_stream(dst + i * b->dst, job->value, n_a * job->dst_item);
            else gb_copy_kernels_here->fill(dst + i * b->dst, job->value, n_a * job->dst_item);
        }
        break;
    case GB_COPY_FILL_STRIDED:
        for (int64_t i = 0; i < n_b; i++) gb_move_strided(dst + i * b->dst, a->dst, job->value, 0, n_a, job->dst_item);
        break;
    case GB_COPY_SLIDE:
        memmove(dst, src, (size_t)n_a);
        break;
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

void gb_copy_job_run(const gb_copy_job *job, int64_t first, int64_t end) {
    cursor c;
    if (first >= end) return;
    if (job->ordered) {
        for (int64_t t = first; t < end; t++) {
            seek(job, &c, job->backward ? job->tiles - 1 - t : t);
            tile(job, c.dst, c.src, c.src, extent(&job->a, c.index), 1);
        }
        return;
    }
    seek(job, &c, first);
    for (int64_t t = first; t < end; t++) {
        char *dst = c.dst;
        const char *src = c.src;
        int64_t n_a = extent(&job->a, c.index), n_b = extent(&job->b, c.index);
        step(job, &c);
        tile(job, dst, src, c.src, n_a, n_b);
    }
    if (job->stream) gb_copy_stream_fence();
}
