/* order.c: the order of asynchronous work: epochs of a device, events, and the work in flight on a
 * block. */
#include "blocks.h"

#include "../alloc/system.h"

#include <time.h>

/* ---- epochs: each wait for a whole device begins a new one ---- */

static uint64_t begun, done[GB_CUDA_MAX_DEVICES];

/* A wait that begins after a block was freed has a greater number than the block's epoch. */
uint64_t gb_cu_now_epoch(void) { return __atomic_load_n(&begun, __ATOMIC_ACQUIRE); }
uint64_t gb_cu_epoch(int device) { return __atomic_load_n(&done[device], __ATOMIC_ACQUIRE); }

int gb_cu_wait_device(int device, gb_cuda_error *e) {
    uint64_t number = __atomic_add_fetch(&begun, 1, __ATOMIC_ACQ_REL);
    uint64_t before = gb_cu_epoch(device);
    if (GB_CU(e, cuCtxSynchronize)) return -1;
    while (before < number && !__atomic_compare_exchange_n(&done[device], &before, number, 0,
                                                           __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {}
    return 0;
}

int gb_cuda_synchronize(int device, gb_cuda_error *e) {
    return gb_cu_enter(device, e) ? gb_cu_left(gb_cu_wait_device(device, e)) : -1;
}

int gb_cu_wait_devices(uint64_t devices, gb_cuda_error *e) {
    int bad = 0;
    for (int device = 0; device < GB_CUDA_MAX_DEVICES; device++)
        if (devices >> device & 1 && gb_cuda_synchronize(device, bad ? NULL : e)) bad = -1;
    return bad;
}

/* ---- events, recycled through a list of spares per device ---- */

#define NO_TIMING 2 /* CU_EVENT_DISABLE_TIMING */
#define SPARES 256

static gb_cuda_event *spare[GB_CUDA_MAX_DEVICES];
static int spares[GB_CUDA_MAX_DEVICES];

/* Each thread has its own per-thread default stream. pthread_self() is reused after a thread has
 * ended, this number never. */
static uint64_t thread_number(void) {
    static uint64_t threads;
    static __thread uint64_t mine;
    if (!mine) mine = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    return mine;
}

gb_cu_key gb_cu_key_of(gb_cuda_stream stream) {
    if (stream <= 1) return GB_CU_LEGACY;
    return stream == 2 ? (gb_cu_key)1 << 63 | thread_number() : stream;
}

static gb_cuda_event *take_event(gb_cuda_queue on, gb_cu_key key, gb_cuda_error *e) {
    pthread_mutex_lock(&gb_cu_events_lock);
    gb_cuda_event *event = spare[on.device];
    if (event) {
        spare[on.device] = event->next;
        spares[on.device]--;
    }
    pthread_mutex_unlock(&gb_cu_events_lock);
    if (!event) {
        event = calloc(1, sizeof *event);
        if (!event) {
            gb_cu_fail(e, GB_CUDA_NO_MEMORY, "no host memory for an event");
            return NULL;
        }
        if (GB_CU(e, cuEventCreate, &event->handle, NO_TIMING)) {
            free(event);
            return NULL;
        }
    }
    *event = (gb_cuda_event){.handle = event->handle, .on = on, .key = key};
    return event;
}

void gb_cuda_release_event(gb_cuda_event *event) {
    if (!event) return;
    if (gb_cu_in_child) {
        free(event);
        return;
    }
    int device = event->on.device;
    pthread_mutex_lock(&gb_cu_events_lock);
    int keep = spares[device] < SPARES;
    if (keep) {
        event->next = spare[device];
        spare[device] = event;
        spares[device]++;
    }
    pthread_mutex_unlock(&gb_cu_events_lock);
    if (keep) return;
    if (gb_cu_enter_to_release(device)) {
        /* Legal while the event is pending: the driver destroys it later. */
        gb_cu.cuEventDestroy_v2(event->handle);
        gb_cu_leave();
    }
    free(event);
}

gb_cuda_event *gb_cu_record_event(gb_cuda_queue on, gb_cuda_error *e) {
    gb_cuda_event *event = take_event(on, gb_cu_key_of(on.stream), e);
    if (event && GB_CU(e, cuEventRecord, event->handle, GB_CU_STREAM(on))) {
        gb_cuda_release_event(event);
        return NULL;
    }
    return event;
}

/* Whether all later work on the queue comes after the event without a wait. Work on one stream is
 * in order; the legacy default stream and the per-thread default streams of a device are in order
 * with each other. */
static int in_order(const gb_cuda_event *event, gb_cuda_queue on) {
    if (event->on.device != on.device || event->key == GB_CU_UNKNOWN) return 0;
    gb_cu_key key = gb_cu_key_of(on.stream);
    return event->key == key || (event->key == GB_CU_LEGACY && on.stream == 2) ||
           (key == GB_CU_LEGACY && event->on.stream == 2);
}

/* A foreign stream may have been destroyed; the context has not. From CUDA 12.5 on an event can be
 * recorded for all streams of a context. */
gb_cuda_event *gb_cu_record_all(gb_cu_device *d, int device) {
    gb_cuda_event *event =
        gb_cu.cuCtxRecordEvent ? take_event((gb_cuda_queue){device, 0}, GB_CU_UNKNOWN, NULL) : NULL;
    if (event && gb_cu.cuCtxRecordEvent(d->context, event->handle) != CUDA_SUCCESS) {
        gb_cuda_release_event(event);
        return NULL;
    }
    return event;
}

static int query_event(gb_cuda_event *event, gb_cuda_error *e) {
    if (__atomic_load_n(&event->done, __ATOMIC_ACQUIRE)) return 1;
    CUresult code = gb_cu.cuEventQuery(event->handle);
    if (code == CUDA_ERROR_NOT_READY) return 0;
    if (gb_cu_says(e, code, "cuEventQuery")) return -1;
    __atomic_store_n(&event->done, 1, __ATOMIC_RELEASE);
    return 1;
}

int gb_cu_all_done(gb_cuda_event **events) {
    gb_cuda_event **link = events;
    while (*link) {
        gb_cuda_event *event = *link;
        if (query_event(event, NULL) == 1) {
            *link = event->next;
            gb_cuda_release_event(event);
        } else {
            link = &event->next;
        }
    }
    return *events == NULL;
}

void gb_cu_forget(gb_cuda_event **events) {
    for (gb_cuda_event *event; (event = *events); gb_cuda_release_event(event))
        *events = event->next;
}

int gb_cuda_record(gb_cuda_queue on, gb_cuda_event **event, gb_cuda_error *e) {
    if (!gb_cu_enter(on.device, e)) return -1;
    return gb_cu_left((*event = gb_cu_record_event(on, e)) ? 0 : -1);
}

/* Busy waiting before the first sleep: a sleep takes a tenth of a millisecond at least. The pauses
 * grow to some 50 us. */
static void pause_awake(int look) {
    for (int64_t until = gb_nanoseconds() + (200 << look / 2); gb_nanoseconds() < until;)
        __asm__ volatile("" ::: "memory");
}

/* Polls, at last with sleeps that grow to half a millisecond: cuEventSynchronize cannot be left
 * when the time is up. */
#define AWAKE 16 /* looks */
int gb_cuda_wait(gb_cuda_event *event, int64_t nanoseconds, gb_cuda_error *e) {
    if (!gb_cu_in_child && __atomic_load_n(&event->done, __ATOMIC_ACQUIRE)) return 1;
    if (!gb_cu_enter(event->on.device, e)) return -1;
    int64_t start = gb_nanoseconds(), pause = 20000;
    int done;
    for (int look = 0; !(done = query_event(event, e)); look++) {
        int64_t left = nanoseconds - (gb_nanoseconds() - start);
        if (left <= 0) break;
        if (look < AWAKE) {
            pause_awake(look);
            continue;
        }
        nanosleep(&(struct timespec){.tv_nsec = pause < left ? pause : left}, NULL);
        pause = pause < 500000 ? pause * 3 / 2 : 500000;
    }
    return gb_cu_left(done);
}

int gb_cuda_stream_wait_event(gb_cuda_event *event, gb_cuda_queue then, gb_cuda_error *e) {
    if (in_order(event, then)) return 0;
    if (!gb_cu_enter(then.device, e)) return -1;
    return gb_cu_left(GB_CU(e, cuStreamWaitEvent, GB_CU_STREAM(then), event->handle, 0));
}

int gb_cuda_stream_wait_stream(gb_cuda_queue later, gb_cuda_queue earlier, gb_cuda_error *e) {
    gb_cuda_event asked = {.on = earlier, .key = gb_cu_key_of(earlier.stream)}, *event;
    if (in_order(&asked, later)) return 0;
    if (gb_cuda_record(earlier, &event, e)) return -1;
    int bad = gb_cuda_stream_wait_event(event, later, e);
    gb_cuda_release_event(event);
    return bad;
}

/* ---- work in flight on a block ---- */

static gb_cu_record *lock_record(gb_cuda_block *block) {
    gb_cu_record *r = (gb_cu_record *)block;
    pthread_mutex_lock(r->slab->pool->lock);
    return r;
}

static void unlock_record(gb_cu_record *r) { pthread_mutex_unlock(r->slab->pool->lock); }

/* Keeps the newest event of each stream. Readers look without the lock whether the list is empty:
 * replacing an event never makes it empty in between. */
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

/* The context of the queue's device is current; the events may be of any device. */
static int wait_for_all(gb_cu_record *r, gb_cuda_queue on, gb_cuda_error *e) {
    for (gb_cuda_event *event = r->in_flight; event; event = event->next)
        if (!in_order(event, on) && GB_CU(e, cuStreamWaitEvent, GB_CU_STREAM(on), event->handle, 0))
            return -1;
    return 0;
}

/* Joins work on several streams into one stream of the block's device: the newest, or the default
 * stream where all work is on other devices. */
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
    if (!__atomic_load_n(&r->in_flight, __ATOMIC_ACQUIRE)) return 0; /* common: no driver call */
    if (!gb_cu_enter(block->device, e)) return -1;
    lock_record(block);
    int answer = gb_cu_all_done(&r->in_flight) ? 0 : join(r, stream, e);
    unlock_record(r);
    return gb_cu_left(answer);
}

/* The common case: all work in flight is on the same stream, and the driver is not called. */
static int is_behind(gb_cuda_block *block, gb_cuda_queue on) {
    gb_cu_record *r = lock_record(block);
    const gb_cuda_event *event = r->in_flight;
    while (event && in_order(event, on)) event = event->next;
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

/* Devices with unfinished recorded work on the block, one bit each; all bits on error. */
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

void gb_cuda_mark_exported(gb_cuda_block *block) {
    if (!__atomic_load_n(&block->exported, __ATOMIC_RELAXED))
        __atomic_store_n(&block->exported, 1, __ATOMIC_RELEASE);
}
