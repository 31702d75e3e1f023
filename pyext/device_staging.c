/* device_staging.c: one leg between host and device, directly where the driver can, else in chunks through pinned memory:
 * while one chunk is on the bus, the next is laid out. */
#include "device_transit.h"

#include <string.h>

#define SMALL ((int64_t)1 << 20)           /* the driver's own staging of pageable memory is good enough */
#define CHUNK_MIN ((int64_t)256 << 10)
#define CHUNK_MAX ((int64_t)8 << 20)
#define RING 3

typedef struct slot {
    char *data;
    gb_cuda_event *event;       /* the move that reads or writes the slot */
    gb_pair packed;             /* what is in it: a the slot, b the host's side */
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

/* Laid out on the host: between a slot (a) and the caller's memory (b). */
static int lay_out(const gb_leg *leg, slot *s) {
    int64_t shape[GB_MAXDIMS + 1], in_slot[GB_MAXDIMS + 1], outside[GB_MAXDIMS + 1];
    for (int i = 0; i < s->packed.ndim; i++) {
        shape[i] = s->packed.axis[i].n;
        in_slot[i] = s->packed.axis[i].a;
        outside[i] = s->packed.axis[i].b;
    }
    gb_view staging = {s->data, leg->device_item, leg->device_type, s->packed.ndim, shape, in_slot};
    gb_view host = {s->host, leg->host_item, leg->host_type, s->packed.ndim, shape, outside};
    gb_copy copy;
    int up = leg->direction == GB_CUDA_UPLOAD;
    return gb_copy_finish(&copy, up ? gb_copy_plan(&copy, &staging, &host) : gb_copy_plan(&copy, &host, &staging), NULL);
}

static int settle(const gb_leg *leg, slot *s) {
    if (!s->event) return 0;
    int rc = gb_event_wait(s->event, -1);
    gb_cuda_forget(s->event);
    s->event = NULL;
    if (rc < 0) return -1;
    return leg->direction == GB_CUDA_DOWNLOAD ? lay_out(leg, s) : 0;
}

/* One chunk: axes from `level` on, of the level itself `n`. device and host are where its first element lies. */
static int chunk(gb_transit *t, const gb_leg *leg, slot *s, int level, int64_t n, uint64_t device, char *host) {
    int64_t shape[GB_MAXDIMS + 1], far[GB_MAXDIMS + 1], near[GB_MAXDIMS + 1], item = leg->device_item, step = item;
    int axes = leg->pair->ndim - level;
    if (settle(leg, s) < 0) return -1;
    for (int i = axes - 1; i >= 0; i--) {
        const gb_axis *x = &leg->pair->axis[level + i];
        shape[i] = i ? x->n : n;
        far[i] = x->a;
        near[i] = step;
        step *= shape[i];
        s->packed.axis[i] = (gb_axis){shape[i], near[i], x->b};
    }
    s->packed.ndim = axes;
    s->host = host;
    gb_pair bus;
    gb_cuda_error e;
    gb_pair_make(&bus, axes, shape, far, near);
    if (leg->direction == GB_CUDA_UPLOAD && lay_out(leg, s) < 0) return -1;
    if (gb_pair_move(&bus, leg->direction, device, (uint64_t)(uintptr_t)s->data, item, t->on) < 0) return -1;
    return gb_cuda_record(t->on, &s->event, &e) < 0 ? gb_cuda_raise(&e) : 0;
}

static int tell(const gb_leg *leg, double done) {
    PyObject *result = leg->progress ? PyObject_CallFunction(leg->progress, "d", done) : Py_NewRef(Py_None);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int chunks(gb_transit *t, const gb_leg *leg, ring *r, int level, int64_t rows) {
    const gb_pair *p = leg->pair;
    int64_t index[GB_MAXDIMS + 1] = {0}, total = p->size, seen = 0, below = 1;
    for (int i = level + 1; i < p->ndim; i++) below *= p->axis[i].n;
    for (int turn = 0;; turn++) {
        uint64_t device = leg->device_data + (uint64_t)p->a_at;
        char *host = leg->host_data + p->b_at;
        for (int i = 0; i <= level && i < p->ndim; i++) {
            device += (uint64_t)(index[i] * p->axis[i].a);
            host += index[i] * p->axis[i].b;
        }
        int64_t left = p->ndim ? p->axis[level].n - index[level] : 1, n = left < rows ? left : rows;
        if (chunk(t, leg, &r->slots[turn % r->count], level, n, device, host) < 0 || tell(leg, (double)(seen += n * below) / (double)total) < 0)
            return -1;
        if (seen >= total) break;
        index[level] += n;
        for (int i = level; i > 0 && index[i] == p->axis[i].n; i--) {
            index[i] = 0;
            index[i - 1]++;
        }
    }
    return 0;
}

static int staged(gb_transit *t, const gb_leg *leg) {
    const gb_pair *p = leg->pair;
    int64_t room = chunk_bytes(p->size * leg->device_item), below = leg->device_item;
    int level = p->ndim ? p->ndim - 1 : 0;
    while (level > 0 && below * p->axis[level].n <= room) below *= p->axis[level--].n;
    int64_t rows = room / below > 0 ? room / below : 1, wanted = p->size * leg->device_item;
    if (p->ndim && rows > p->axis[level].n) rows = p->axis[level].n;
    ring r = {.count = RING};
    if (rows * below >= wanted) r.count = 1;
    int rc = 0;
    for (int i = 0; i < r.count && rc == 0; i++) {
        rc = gb_transit_hold(t, gb_block_new(GB_CUDA_PINNED, rows * below, t->on), t->on);
        if (rc == 0) r.slots[i].data = (char *)(uintptr_t)((gb_block_object *)t->held[t->n_held - 1].object)->block->data;
    }
    if (rc == 0) rc = chunks(t, leg, &r, level, rows);
    for (int i = 0; i < r.count && rc == 0; i++)
        if (leg->direction == GB_CUDA_DOWNLOAD) rc = settle(leg, &r.slots[i]);
    for (int i = 0; i < r.count; i++)
        if (r.slots[i].event) gb_cuda_forget(r.slots[i].event);
    t->host_free = 1;   /* the chunks are copies */
    return rc;
}

int gb_leg_run(gb_transit *t, const gb_leg *leg) {
    const gb_pair *p = leg->pair;
    int same = leg->device_type == leg->host_type && leg->device_item == leg->host_item;
    int64_t bytes = p->size * leg->device_item;
    if (p->size == 0) return 0;
    if (!same || gb_pair_calls(p, leg->device_item) > GB_DIRECT_CALLS || (!leg->pinned && bytes > SMALL)) return staged(t, leg);
    if (gb_pair_move(p, leg->direction, leg->device_data, (uint64_t)(uintptr_t)leg->host_data, leg->device_item, t->on) < 0)
        return -1;
    return leg->progress ? tell(leg, 1.0) : 0;
}
