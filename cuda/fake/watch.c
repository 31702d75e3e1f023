/* watch.c: work that nothing puts in order with unfinished work on the same memory. */
#include "fake.h"

#include "../kernels.h"
#include <stdlib.h>

typedef struct span {
    CUdeviceptr from, to;
} span; /* to is behind the last byte */

static span rows_of(CUdeviceptr at, size_t bytes, size_t pitch, size_t rows) {
    return (span){at, at + bytes + (rows ? rows - 1 : 0) * pitch};
}

static span reach(gb_word at, const gb_kernel_job *job, const long long *strides, size_t word) {
    span s = {at, at + word};
    for (int axis = 0; axis < job->ndim; axis++)
        *(strides[axis] < 0 ? &s.from : &s.to) +=
            (CUdeviceptr)((job->shape[axis] - 1) * strides[axis]);
    return s;
}

/* Device memory as it is when all that is queued now is done: an upload on its way counts. */
static const void *soon(const fake_work *queue, const fake_work *w, CUdeviceptr address,
                        size_t bytes) {
    const void *found = w->look(address, bytes, "a kernel");
    for (const fake_work *q = queue; q; q = q->next)
        if (!q->event && !q->parameters && !q->width && q->rows == 1 && q->to <= address &&
            address + bytes <= q->to + q->bytes)
            found = q->staged ? q->staged + (address - q->to)
                              : w->look(q->from + (address - q->to), bytes, "a copy's source");
    return found;
}

static span box(gb_word at, const gb_kernel_entry *entry, const long long *strides) {
    span s = {at, at + (size_t)entry->word};
    for (int axis = 0; axis < entry->ndim; axis++)
        *(strides[axis] < 0 ? &s.from : &s.to) +=
            (CUdeviceptr)((entry->shape[axis] - 1) * strides[axis]);
    return s;
}

typedef struct touched {
    span write, read; /* nothing where both ends are the same */
} touched;

/* What it touches, n of them, to be freed. */
static touched *touched_by(const fake_work *queue, const fake_work *w, int *n) {
    const gb_kernel_program *program = w->program ? w->parameters : NULL;
    touched *found = calloc(program ? (size_t)program->n : 1, sizeof *found);
    *n = program ? program->n : 1;
    if (w->event) return found;
    if (program) {
        for (int i = 0; i < program->n; i++) {
            const gb_kernel_entry *entry =
                soon(queue, w, program->entries + (gb_word)i * sizeof *entry, sizeof *entry);
            const gb_word *base =
                program->bases ? soon(queue, w, program->bases, 8) : program->base;
            found[i].write =
                box(base[entry->dst_slot] + (gb_word)entry->dst_at, entry, entry->dst_strides);
            found[i].read =
                box(base[entry->src_slot] + (gb_word)entry->src_at, entry, entry->src_strides);
        }
    } else if (w->parameters) { /* another launch */
        const gb_kernel_job *job = w->parameters;
        int filling = job->src == job->dst;
        found->write = reach(job->dst, job, job->dst_strides, w->bytes);
        if (!filling) found->read = reach(job->src, job, job->src_strides, w->bytes);
    } else if (w->width) {
        found->write = (span){w->to, w->to + w->count * (size_t)w->width};
    } else {
        found->write = rows_of(w->to, w->bytes, w->to_pitch, w->rows);
        if (!w->staged && w->rows) found->read = rows_of(w->from, w->bytes, w->from_pitch, w->rows);
    }
    return found;
}

static int meet(span a, span b) { return a.from < b.to && b.from < a.to; }

static int clash(const touched *a, int n, const touched *b, int m) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < m; k++)
            if (meet(a[i].write, b[k].write) || meet(a[i].write, b[k].read) ||
                meet(a[i].read, b[k].write))
                return 1;
    return 0;
}

/* Marks what is done before the fresh work begins, whatever the devices do meanwhile. */
static void mark_earlier(fake_work *queue, fake_work *fresh) {
    size_t n = 0, i = 0;
    for (fake_work *q = queue; q; q = q->next) q->earlier = q == fresh, n++;
    fake_work **all = malloc(n * sizeof *all);
    for (fake_work *q = queue; q; q = q->next) all[i++] = q;
    for (i = n; i-- > 0;)
        for (size_t k = 0; all[i]->earlier && k < i; k++)
            if (!all[k]->earlier && fake_is_behind(all[i], all[k])) all[k]->earlier = 1;
    free(all);
}

void fake_look_for_races(fake_work *queue, fake_work *fresh) {
    int n, m;
    touched *ours = touched_by(queue, fresh, &n);
    mark_earlier(queue, fresh);
    for (fake_work *q = queue; q != fresh; q = q->next) {
        if (q->earlier) continue;
        touched *its = touched_by(queue, q, &m);
        if (clash(ours, n, its, m))
            fake_misuse("work on stream %p of GPU %d and unfinished work on stream %p of GPU %d "
                        "touch the same memory, in no order",
                        (void *)fresh->stream, fresh->stream->context->device, (void *)q->stream,
                        q->stream->context->device);
        free(its);
    }
    free(ours);
}
