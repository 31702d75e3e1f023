/* inflight.c: our own asynchronous work on a block: who else must wait for it. */
#include "blocks.h"

static gb_cu_record *lock_record(gb_cuda_block *block) {
    gb_cu_record *r = (gb_cu_record *)block;
    pthread_mutex_lock(r->slab->pool->lock);
    return r;
}

static void unlock_record(gb_cu_record *r) { pthread_mutex_unlock(r->slab->pool->lock); }

/* One event for each stream is enough: the newest. Whether any is in flight is read without
 * the lock: the list is never empty in between. */
static void push(gb_cu_record *r, gb_cuda_event *event) {
    event->next = r->in_flight;
    __atomic_store_n(&r->in_flight, event, __ATOMIC_RELEASE);
    for (gb_cuda_event **link = &event->next; *link; link = &(*link)->next)
        if ((*link)->key == event->key && (*link)->on.device == event->on.device) {
            gb_cuda_event *older = *link;
            *link = older->next;
            gb_cuda_release_event(older);
            break;
        }
}

int gb_cuda_record_use(gb_cuda_block *block, gb_cuda_queue on, gb_cuda_error *e) {
    if (!gb_cu_enter(on.device, e)) return -1;
    gb_cuda_event *event = gb_cu_record_event(on, e);
    if (event) {
        gb_cu_record *r = lock_record(block);
        push(r, event);
        unlock_record(r);
    }
    return gb_cu_left(event ? 0 : -1);
}

/* With the context of the queue's device current; the events may be of any. */
static int wait_for_all(gb_cu_record *r, gb_cuda_queue on, gb_cuda_error *e) {
    for (gb_cuda_event *event = r->in_flight; event; event = event->next)
        if (!gb_cu_in_order(event, on) &&
            GB_CU(e, cuStreamWaitEvent, GB_CU_STREAM(on), event->handle, 0))
            return -1;
    return 0;
}

/* With work on several streams the newest one of the block's own device is made to wait for the
 * others, so that one stream says it all; the default stream where all the work is elsewhere. */
static int join(gb_cu_record *r, gb_cuda_stream *stream, gb_cuda_error *e) {
    gb_cuda_queue on = r->in_flight->on;
    int elsewhere = on.device != r->block.device;
    if (elsewhere) on = (gb_cuda_queue){r->block.device, 1};
    *stream = on.stream;
    if (!r->in_flight->next && !elsewhere) return 1;
    if (wait_for_all(r, on, e)) return -1;
    gb_cuda_event *event = gb_cu_record_event(on, e);
    if (!event) return -1;
    gb_cuda_event *older = r->in_flight;
    __atomic_store_n(&r->in_flight, event, __ATOMIC_RELEASE);
    gb_cu_forget(&older);
    return 1;
}

int gb_cuda_in_flight(gb_cuda_block *block, gb_cuda_stream *stream, gb_cuda_error *e) {
    gb_cu_record *r = (gb_cu_record *)block;
    if (!__atomic_load_n(&r->in_flight, __ATOMIC_ACQUIRE))
        return 0; /* as nearly always: no driver call */
    if (!gb_cu_enter(block->device, e)) return -1;
    lock_record(block);
    int answer = gb_cu_all_done(&r->in_flight) ? 0 : join(r, stream, e);
    unlock_record(r);
    return gb_cu_left(answer);
}

/* As nearly always: the work was queued where what comes now is queued as well, and the driver is
 * not asked. */
static int is_behind(gb_cuda_block *block, gb_cuda_queue on) {
    gb_cu_record *r = lock_record(block);
    const gb_cuda_event *event = r->in_flight;
    while (event && gb_cu_in_order(event, on)) event = event->next;
    unlock_record(r);
    return event == NULL;
}

int gb_cuda_stream_wait_block(gb_cuda_block *block, gb_cuda_queue on, gb_cuda_error *e) {
    gb_cu_record *r = (gb_cu_record *)block;
    if (!__atomic_load_n(&r->in_flight, __ATOMIC_ACQUIRE) || is_behind(block, on)) return 0;
    if (!gb_cu_enter(on.device, e)) return -1;
    lock_record(block);
    int bad = gb_cu_all_done(&r->in_flight) ? 0 : wait_for_all(r, on, e);
    unlock_record(r);
    return gb_cu_left(bad);
}

/* The devices whose recorded work on it is not done. */
static uint64_t busy(gb_cuda_block *block, int device, gb_cuda_error *e) {
    gb_cu_record *r = (gb_cu_record *)block;
    uint64_t devices = 0;
    if (!gb_cu_enter(device, e)) return ~(uint64_t)0;
    lock_record(block);
    gb_cu_all_done(&r->in_flight);
    for (gb_cuda_event *event = r->in_flight; event; event = event->next)
        devices |= (uint64_t)1 << event->on.device;
    unlock_record(r);
    gb_cu_leave();
    return devices;
}

int gb_cuda_synchronize_block(gb_cuda_block *block, gb_cuda_error *e) {
    gb_cu_record *r = (gb_cu_record *)block;
    if (!__atomic_load_n(&r->in_flight, __ATOMIC_ACQUIRE)) return 0;
    uint64_t devices = busy(block, block->device, e);
    return devices == ~(uint64_t)0 ? -1 : gb_cu_wait_devices(devices, e);
}

void gb_cuda_show(gb_cuda_block *block) {
    if (!__atomic_load_n(&block->shown, __ATOMIC_RELAXED))
        __atomic_store_n(&block->shown, 1, __ATOMIC_RELEASE);
}
