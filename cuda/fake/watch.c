/* watch.c: work that nothing puts in order with unfinished work on the same memory. */
#include "fake.h"

#include "../kernels.h"
#include <stdlib.h>

typedef struct span { CUdeviceptr from, to; } span;   /* to is behind the last byte */

static span rows_of(CUdeviceptr at, size_t bytes, size_t pitch, size_t rows) { return (span){at, at + bytes + (rows ? rows - 1 : 0) * pitch}; }

static span reach(gb_word at, const gb_kernel_job *job, const long long *strides, size_t word) {
    span s = {at, at + word};
    for (int axis = 0; axis < job->ndim; axis++) *(strides[axis] < 0 ? &s.from : &s.to) += (CUdeviceptr)((job->shape[axis] - 1) * strides[axis]);
    return s;
}

/* What it writes and what it reads: nothing where both ends are the same. */
static void spans(const fake_work *w, span *writes, span *reads) {
    *writes = *reads = (span){0, 0};
    if (w->event) return;
    if (w->parameters) {   /* a launch */
        const gb_kernel_job *job = w->parameters;
        int filling = job->src == job->dst;
        *writes = reach(job->dst, job, job->dst_strides, w->bytes);
        if (!filling) *reads = reach(job->src, job, job->src_strides, w->bytes);
    } else if (w->width) {
        *writes = (span){w->to, w->to + w->count * (size_t)w->width};
    } else {
        *writes = rows_of(w->to, w->bytes, w->to_pitch, w->rows);
        if (!w->staged && w->rows) *reads = rows_of(w->from, w->bytes, w->from_pitch, w->rows);
    }
}

static int meet(span a, span b) { return a.from < b.to && b.from < a.to; }

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
    span writes, reads, w, r;
    spans(fresh, &writes, &reads);
    mark_earlier(queue, fresh);
    for (fake_work *q = queue; q != fresh; q = q->next) {
        spans(q, &w, &r);
        if (q->earlier || (!meet(writes, w) && !meet(writes, r) && !meet(reads, w))) continue;
        fake_misuse("work on stream %p of GPU %d and unfinished work on stream %p of GPU %d touch the same memory, in no order", (void *)fresh->stream,
                    fresh->stream->context->device, (void *)q->stream, q->stream->context->device);
    }
}
