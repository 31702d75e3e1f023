/* staging.c: between host and GPU: directly where the driver can, else in chunks through pinned
 * memory: while one chunk is on the bus, the next is laid out. */
#include "staging.h"
#include "blocks.h"
#include "moves.h"

#define SMALL ((int64_t)1 << 20) /* the driver's own staging of pageable memory is good enough */
#define CHUNK_MIN ((int64_t)256 << 10)
#define CHUNK_MAX ((int64_t)8 << 20)
#define RING 3
#define SLICE (20 * 1000 * 1000ll) /* ns between two calls of yield */

int gb_cu_temporary(gb_cuda_job *job, int kind, int64_t bytes, gb_cuda_queue on, uint64_t *data,
                    gb_cuda_error *e) {
    gb_cuda_request request = {.kind = kind,
                               .device = on.device,
                               .span = bytes,
                               .boundary = GB_CU_ALIGN,
                               .stream = on.stream};
    if (gb_cuda_alloc(&request, &job->blocks[job->n_blocks], e)) return -1;
    *data = job->blocks[job->n_blocks]->data;
    job->used_on[job->n_blocks++] = on;
    return 0;
}

/* ---- what the caller does ---- */

static int stopped(int rc, gb_cuda_error *e) {
    return rc < 0 ? gb_cu_fail(e, GB_CUDA_STOPPED, "the caller has ended the copy") : 0;
}

static int progress(const gb_cuda_job *job, double done, gb_cuda_error *e) {
    const gb_cuda_caller *c = job->caller;
    return c && c->progress ? stopped(c->progress(c->self, done), e) : 0;
}

static int wait_for(const gb_cuda_job *job, gb_cuda_event *event, gb_cuda_error *e) {
    const gb_cuda_caller *c = job->caller;
    for (int done;;) {
        if ((done = gb_cuda_wait(event, SLICE, e))) return done < 0 ? -1 : 0;
        if (c && stopped(c->yield(c->self), e)) return -1;
    }
}

static int lay_out(const gb_cuda_job *job, const gb_copy_view *dst, const gb_copy_view *src,
                   gb_cuda_error *e) {
    const gb_cuda_caller *c = job->caller;
    if (c) return stopped(c->lay_out(c->self, dst, src), e);
    int code = gb_copy_serial(dst, src);
    return code == GB_COPY_OK
               ? 0
               : gb_cu_fail(e, GB_CUDA_ARGUMENT, "these elements cannot be converted (%d)", code);
}

/* ---- one chunk ---- */

typedef struct slot {
    char *data;
    gb_cuda_event *event; /* the move that reads or writes the slot */
    gb_cu_pair packed;    /* what is in it: a the slot, b the host's side */
    char *host;
} slot;

typedef struct ring {
    slot slots[RING];
    int count;
} ring;

static int64_t chunk_bytes(int64_t bytes) {
    int64_t chunk = bytes / 8;
    return chunk < CHUNK_MIN ? CHUNK_MIN : chunk > CHUNK_MAX ? CHUNK_MAX : chunk;
}

/* Between a slot (a) and the caller's memory (b). */
static int lay_out_slot(const gb_cuda_job *job, const gb_cu_staged *s, slot *at, gb_cuda_error *e) {
    int64_t shape[GB_COPY_DIMS + 1], in_slot[GB_COPY_DIMS + 1], outside[GB_COPY_DIMS + 1];
    gb_cu_pair_lists(&at->packed, shape, in_slot, outside);
    gb_copy_view staging = {at->data,        s->device_item, s->device_type,
                            at->packed.ndim, shape,          in_slot};
    gb_copy_view host = {at->host, s->host_item, s->host_type, at->packed.ndim, shape, outside};
    return s->direction == GB_CUDA_UPLOAD ? lay_out(job, &staging, &host, e)
                                          : lay_out(job, &host, &staging, e);
}

/* The slot may be used again. */
static int finish_slot(const gb_cuda_job *job, const gb_cu_staged *s, slot *at, gb_cuda_error *e) {
    if (!at->event) return 0;
    int bad = wait_for(job, at->event, e);
    gb_cuda_release_event(at->event);
    at->event = NULL;
    return bad ? -1 : s->direction == GB_CUDA_DOWNLOAD ? lay_out_slot(job, s, at, e) : 0;
}

/* Axes from `level` on, of the level itself `n`. device and host are where its first element lies.
 */
static int chunk(const gb_cuda_job *job, const gb_cu_staged *s, slot *at, int level, int64_t n,
                 uint64_t device, char *host, gb_cuda_error *e) {
    int64_t shape[GB_COPY_DIMS + 1], far[GB_COPY_DIMS + 1], near[GB_COPY_DIMS + 1],
        item = s->device_item, step = item;
    int axes = s->pair->ndim - level;
    if (finish_slot(job, s, at, e)) return -1;
    for (int i = axes - 1; i >= 0; i--) {
        const gb_copy_axis *x = &s->pair->axis[level + i];
        shape[i] = i ? x->n : n;
        far[i] = x->dst;
        near[i] = step;
        step *= shape[i];
        at->packed.axis[i] = (gb_copy_axis){shape[i], near[i], x->src};
    }
    at->packed.ndim = axes;
    at->host = host;
    gb_cu_pair bus;
    gb_cu_pair_make(&bus, axes, shape, far, near);
    if (s->direction == GB_CUDA_UPLOAD && lay_out_slot(job, s, at, e)) return -1;
    return gb_cu_pair_move(&bus, s->direction, device, (uint64_t)(uintptr_t)at->data, item, s->on,
                           e) ||
                   gb_cuda_record(s->on, &at->event, e)
               ? -1
               : 0;
}

/* ---- all of them ---- */

static int chunks(const gb_cuda_job *job, const gb_cu_staged *s, ring *r, int level, int64_t rows,
                  gb_cuda_error *e) {
    const gb_cu_pair *p = s->pair;
    int64_t index[GB_COPY_DIMS + 1] = {0}, total = p->size, seen = 0, below = 1;
    for (int i = level + 1; i < p->ndim; i++) below *= p->axis[i].n;
    for (int turn = 0;; turn++) {
        uint64_t device = s->device + (uint64_t)p->a_at;
        char *host = s->host + p->b_at;
        for (int i = 0; i <= level && i < p->ndim; i++) {
            device += (uint64_t)(index[i] * p->axis[i].dst);
            host += index[i] * p->axis[i].src;
        }
        int64_t left = p->ndim ? p->axis[level].n - index[level] : 1, n = left < rows ? left : rows;
        if (chunk(job, s, &r->slots[turn % r->count], level, n, device, host, e)) return -1;
        if (progress(job, (double)(seen += n * below) / (double)total, e)) return -1;
        if (seen >= total) return 0;
        index[level] += n;
        for (int i = level; i > 0 && index[i] == p->axis[i].n; i--) {
            index[i] = 0;
            index[i - 1]++;
        }
    }
}

static int in_chunks(gb_cuda_job *job, const gb_cu_staged *s, gb_cuda_error *e) {
    const gb_cu_pair *p = s->pair;
    int64_t room = chunk_bytes(p->size * s->device_item), below = s->device_item;
    int level = p->ndim ? p->ndim - 1 : 0;
    while (level > 0 && below * p->axis[level].n <= room) below *= p->axis[level--].n;
    int64_t rows = room / below > 0 ? room / below : 1, wanted = p->size * s->device_item;
    if (p->ndim && rows > p->axis[level].n) rows = p->axis[level].n;
    ring r = {.count = rows * below >= wanted ? 1 : RING};
    int bad = 0;
    for (int i = 0; i < r.count && !bad; i++) {
        uint64_t data = 0;
        bad = gb_cu_temporary(job, GB_CUDA_PINNED, rows * below, s->on, &data, e);
        r.slots[i].data = (char *)(uintptr_t)data;
    }
    if (!bad) bad = chunks(job, s, &r, level, rows, e);
    for (int i = 0; i < r.count && !bad; i++)
        if (s->direction == GB_CUDA_DOWNLOAD) bad = finish_slot(job, s, &r.slots[i], e);
    for (int i = 0; i < r.count; i++) gb_cuda_release_event(r.slots[i].event);
    job->host_free = 1; /* the chunks are copies */
    return bad;
}

int gb_cu_staged_copy(gb_cuda_job *job, const gb_cu_staged *s, gb_cuda_error *e) {
    const gb_cu_pair *p = s->pair;
    int same = s->device_type == s->host_type && s->device_item == s->host_item;
    if (p->size == 0) return 0;
    if (!same || gb_cu_pair_calls(p, s->device_item) > GB_CU_DIRECT_CALLS ||
        (!s->pinned && p->size * s->device_item > SMALL))
        return in_chunks(job, s, e);
    if (gb_cu_pair_move(p, s->direction, s->device, (uint64_t)(uintptr_t)s->host, s->device_item,
                        s->on, e))
        return -1;
    return progress(job, 1.0, e);
}
