/* copy_strided.c: strided copies between host and GPU, within one GPU and from one to another. */
#include "moves.h"
#include "blocks.h"

/* ---- chunks through pinned memory: while one is on the bus, the next is laid out ---- */

#define SMALL ((int64_t)1 << 20) /* bytes of pageable memory left to the driver's own staging */
#define CHUNK_MIN ((int64_t)256 << 10)
#define CHUNK_MAX ((int64_t)8 << 20)
#define DIRECT_CALLS 32 /* of the driver for one copy; beyond, a kernel or the host lays out */
#define RING 3
#define SLICE (20 * 1000 * 1000ll) /* ns between two calls of yield */

/* Side a of the pair is the GPU's. Converts where the types differ. */
typedef struct staged_move {
    int direction; /* GB_CUDA_UPLOAD or GB_CUDA_DOWNLOAD */
    int pinned;    /* the host's side can be moved as it is */
    const gb_cu_pair *pair;
    uint64_t device;
    char *host;
    int64_t device_item, host_item;
    int device_type, host_type;
    gb_cuda_queue on;
} staged_move;

/* A temporary block of the job, at *data. */
static int temporary(gb_cuda_job *job, int kind, int64_t bytes, gb_cuda_queue on, uint64_t *data,
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

/* ---- calls of the caller ---- */

static int stopped(int rc, gb_cuda_error *e) {
    return rc < 0 ? gb_cu_fail(e, GB_CUDA_STOPPED, "the caller has ended the copy") : 0;
}

static int asked_to_stop(const gb_cuda_job *job, gb_cuda_error *e) {
    return job->stop && __atomic_load_n(job->stop, __ATOMIC_RELAXED) ? stopped(-1, e) : 0;
}

static int progress(const gb_cuda_job *job, double done, gb_cuda_error *e) {
    const gb_cuda_caller *c = job->caller;
    if (asked_to_stop(job, e)) return -1;
    return c && c->progress ? stopped(c->progress(c->self, done), e) : 0;
}

static int wait_for(const gb_cuda_job *job, gb_cuda_event *event, gb_cuda_error *e) {
    const gb_cuda_caller *c = job->caller;
    for (int done;;) {
        if ((done = gb_cuda_wait(event, SLICE, e))) return done < 0 ? -1 : 0;
        if (asked_to_stop(job, e) || (c && stopped(c->yield(c->self), e))) return -1;
    }
}

static int lay_out(const gb_cuda_job *job, const gb_copy_view *dst, const gb_copy_view *src,
                   gb_cuda_error *e) {
    const gb_cuda_caller *c = job->caller;
    if (c) return stopped(c->lay_out(c->self, dst, src), e);
    int code = gb_copy_serial(dst, src);
    if (code == GB_COPY_OK) return 0;
    return gb_cu_fail(e, GB_CUDA_ARGUMENT, "these elements cannot be converted (%d)", code);
}

/* ---- one chunk ---- */

typedef struct slot {
    char *data;
    gb_cuda_event *event; /* the move that reads or writes the slot */
    gb_cu_pair packed;    /* side a the slot, side b the host's memory */
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

/* Lays out between a slot (side a) and the caller's memory (side b). */
static int lay_out_slot(const gb_cuda_job *job, const staged_move *s, slot *at, gb_cuda_error *e) {
    int64_t shape[GB_COPY_DIMS + 1], in_slot[GB_COPY_DIMS + 1], outside[GB_COPY_DIMS + 1];
    gb_cu_pair_lists(&at->packed, shape, in_slot, outside);
    gb_copy_view staging = {at->data,        s->device_item, s->device_type,
                            at->packed.ndim, shape,          in_slot};
    gb_copy_view host = {at->host, s->host_item, s->host_type, at->packed.ndim, shape, outside};
    return s->direction == GB_CUDA_UPLOAD ? lay_out(job, &staging, &host, e)
                                          : lay_out(job, &host, &staging, e);
}

/* Waits for the slot's move; of a download the slot is then laid out. */
static int finish_slot(const gb_cuda_job *job, const staged_move *s, slot *at, gb_cuda_error *e) {
    if (!at->event) return 0;
    int bad = wait_for(job, at->event, e);
    gb_cuda_release_event(at->event);
    at->event = NULL;
    return bad ? -1 : s->direction == GB_CUDA_DOWNLOAD ? lay_out_slot(job, s, at, e) : 0;
}

/* Moves the axes from `level` on, `n` elements of the level itself; device and host are the
 * addresses of the first element. */
static int chunk(const gb_cuda_job *job, const staged_move *s, slot *at, int level, int64_t n,
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
    uint64_t data = (uint64_t)(uintptr_t)at->data;
    if (gb_cu_pair_move(&bus, s->direction, device, data, item, s->on, e)) return -1;
    return gb_cuda_record(s->on, &at->event, e);
}

/* ---- all chunks ---- */

static int chunks(const gb_cuda_job *job, const staged_move *s, ring *r, int level, int64_t rows,
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

static int in_chunks(gb_cuda_job *job, const staged_move *s, gb_cuda_error *e) {
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
        bad = temporary(job, GB_CUDA_PINNED, rows * below, s->on, &data, e);
        r.slots[i].data = (char *)(uintptr_t)data;
    }
    if (!bad) bad = chunks(job, s, &r, level, rows, e);
    for (int i = 0; i < r.count && !bad; i++)
        if (s->direction == GB_CUDA_DOWNLOAD) bad = finish_slot(job, s, &r.slots[i], e);
    for (int i = 0; i < r.count; i++) gb_cuda_release_event(r.slots[i].event);
    job->host_free = 1; /* the chunks are copies */
    return bad;
}

static int staged_copy(gb_cuda_job *job, const staged_move *s, gb_cuda_error *e) {
    const gb_cu_pair *p = s->pair;
    int same = s->device_type == s->host_type && s->device_item == s->host_item;
    if (p->size == 0) return 0;
    if (!same || gb_cu_pair_calls(p, s->device_item) > DIRECT_CALLS ||
        (!s->pinned && p->size * s->device_item > SMALL))
        return in_chunks(job, s, e);
    if (gb_cu_pair_move(p, s->direction, s->device, (uint64_t)(uintptr_t)s->host, s->device_item,
                        s->on, e))
        return -1;
    return progress(job, 1.0, e);
}

/* The job as a pair; side a is the destination. */
static gb_cu_pair pair_of(const gb_cuda_job *job) {
    gb_cu_pair p;
    gb_cu_pair_make(&p, job->ndim, job->shape, job->dst.strides, job->src.strides);
    return p;
}

/* ---- within and between GPUs ---- */

static int within(gb_cuda_job *job, gb_cuda_error *e) {
    gb_cu_pair p = pair_of(job);
    int64_t item = job->dst.itemsize;
    uint64_t dst = job->dst.data, src = job->src.data, middle;
    gb_cuda_queue on = job->dst.on;
    if (p.size == 0) return 0;
    if (!gb_cu_pair_overlaps(&p, dst, src, item))
        return gb_cu_pair_relayout(&p, dst, src, item, on, e);
    gb_cu_pair into = gb_cu_pair_packed(&p, item, 0), out = gb_cu_pair_packed(&p, item, 1);
    if (temporary(job, GB_CUDA_DEVICE, p.size * item, on, &middle, e) ||
        gb_cu_pair_relayout(&into, middle, src, item, on, e))
        return -1;
    return gb_cu_pair_relayout(&out, dst, middle, item, on, e);
}

/* Packs on the first GPU, moves and lays out on the second. The second waits for the packing, and
 * at the end the first for the second: later work on either queue, also another use of the
 * temporaries, comes after the copy. */
static int across(gb_cuda_job *job, gb_cuda_error *e) {
    gb_cu_pair p = pair_of(job);
    int64_t item = job->dst.itemsize, bytes = p.size * item;
    uint64_t dst = job->dst.data, src = job->src.data, packed = src + (uint64_t)p.b_at,
             arrived = dst + (uint64_t)p.a_at;
    gb_cuda_queue on = job->dst.on, from = job->src.on;
    if (p.size == 0) return 0;
    gb_cu_pair into = gb_cu_pair_packed(&p, item, 0), out = gb_cu_pair_packed(&p, item, 1);
    int as_is = job->src.kind == GB_CUDA_DEVICE && gb_cu_pair_is_packed(&into),
        in_place = job->dst.kind == GB_CUDA_DEVICE && gb_cu_pair_is_packed(&out);
    if (!as_is && (temporary(job, GB_CUDA_DEVICE, bytes, from, &packed, e) ||
                   gb_cu_pair_relayout(&into, packed, src, item, from, e)))
        return -1;
    if ((!in_place && temporary(job, GB_CUDA_DEVICE, bytes, on, &arrived, e)) ||
        gb_cuda_stream_wait_stream(on, from, e))
        return -1;
    if (gb_cuda_copy_peer(arrived, packed, from.device, bytes, on, e)) return -1;
    if (!in_place && gb_cu_pair_relayout(&out, dst, arrived, item, on, e)) return -1;
    return gb_cuda_stream_wait_stream(from, on, e);
}

/* ---- between host and GPU ---- */

static int is_on_gpu(const gb_cuda_side *side) {
    return side->kind == GB_CUDA_DEVICE || side->kind == GB_CUDA_MANAGED;
}

/* Instead of many small moves the bytes travel in the host's order, and a kernel lays them out. */
static int by_kernel(gb_cuda_job *job, staged_move s, const int64_t *near_strides,
                     const int64_t *far_strides, gb_cuda_error *e) {
    gb_cu_pair h, bus, kernel;
    int64_t shape[GB_COPY_DIMS + 1], near[GB_COPY_DIMS + 1], far[GB_COPY_DIMS + 1],
        dense[GB_COPY_DIMS + 1], item = s.device_item;
    uint64_t gpu = s.device, middle;
    gb_cu_pair_make(&h, job->ndim, job->shape, near_strides, far_strides);
    gb_cu_pair_pack(&h, item, dense);
    gb_cu_pair_lists(&h, shape, near, far);
    if (temporary(job, GB_CUDA_DEVICE, h.size * item, s.on, &middle, e)) return -1;
    gb_cu_pair_make(&bus, h.ndim, shape, dense, near);
    bus.b_at += h.a_at;
    s.pair = &bus;
    s.device = middle;
    if (s.direction == GB_CUDA_DOWNLOAD) {
        gb_cu_pair_make(&kernel, h.ndim, shape, dense, far);
        kernel.b_at += h.b_at;
        if (gb_cu_pair_relayout(&kernel, middle, gpu, item, s.on, e)) return -1;
        return staged_copy(job, &s, e);
    }
    gb_cu_pair_make(&kernel, h.ndim, shape, far, dense);
    kernel.a_at += h.b_at;
    if (staged_copy(job, &s, e)) return -1;
    return gb_cu_pair_relayout(&kernel, gpu, middle, item, s.on, e);
}

static int wait_on_host(const gb_cuda_side *host, gb_cuda_error *e) {
    return host->block ? gb_cuda_synchronize_block(host->block, e) : 0;
}

static int between(gb_cuda_job *job, gb_cuda_error *e) {
    int up = is_on_gpu(&job->dst);
    const gb_cuda_side *gpu = up ? &job->dst : &job->src, *host = up ? &job->src : &job->dst;
    gb_cu_pair p;
    gb_cu_pair_make(&p, job->ndim, job->shape, gpu->strides, host->strides);
    staged_move s = {.direction = up ? GB_CUDA_UPLOAD : GB_CUDA_DOWNLOAD,
                     .pinned = host->kind == GB_CUDA_PINNED,
                     .pair = &p,
                     .device = gpu->data,
                     .host = (char *)(uintptr_t)host->data,
                     .device_item = gpu->itemsize,
                     .host_item = host->itemsize,
                     .device_type = gpu->type,
                     .host_type = host->type,
                     .on = gpu->on};
    int converts = gpu->type != host->type || gpu->itemsize != host->itemsize;
    if ((converts || !s.pinned) && wait_on_host(host, e)) return -1;
    if (p.size == 0 || converts || gb_cu_pair_calls(&p, gpu->itemsize) <= DIRECT_CALLS)
        return staged_copy(job, &s, e);
    if (gb_cuda_kernels(gpu->on.device, e) && e->status == GB_CUDA_NO_KERNELS)
        return staged_copy(job, &s, e);
    if (by_kernel(job, s, host->strides, gpu->strides, e) == 0) return 0;
    if (e->status != GB_CUDA_NO_MEMORY && e->status != GB_CUDA_OVER_LIMIT) return -1;
    /* No room on the GPU for a temporary: the host lays out. */
    if (wait_on_host(host, e)) return -1;
    return staged_copy(job, &s, e);
}

int gb_cuda_copy_strided(gb_cuda_job *job, gb_cuda_error *e) {
    gb_cuda_error own;
    gb_cuda_queue on = (is_on_gpu(&job->dst) ? &job->dst : &job->src)->on,
                  from = (is_on_gpu(&job->src) ? &job->src : &job->dst)->on;
    if (!e) e = &own;
    job->n_blocks = 0;
    job->host_free = 0;
    if ((job->dst.block && gb_cuda_stream_wait_block(job->dst.block, on, e)) ||
        (job->src.block && gb_cuda_stream_wait_block(job->src.block, from, e)))
        return -1;
    if (!is_on_gpu(&job->dst) || !is_on_gpu(&job->src)) return between(job, e);
    return on.device == from.device ? within(job, e) : across(job, e);
}
