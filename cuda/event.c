/* event.c: events, which are used again. */
#include "../alloc/clock.h"
#include "blocks.h"
#include "fork.h"

#include <time.h>

#define NO_TIMING 2 /* CU_EVENT_DISABLE_TIMING */
#define SPARES 256

static gb_cuda_event *spare[GB_CUDA_MAX_DEVICES];
static int spares[GB_CUDA_MAX_DEVICES];

/* The per-thread default stream is another one in each thread; pthread_self() is used
 * again when a thread has ended, this number is not. */
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
    if (event) spare[on.device] = event->next, spares[on.device]--;
    pthread_mutex_unlock(&gb_cu_events_lock);
    if (!event) {
        event = calloc(1, sizeof *event);
        if (!event) return gb_cu_fail(e, GB_CUDA_NO_MEMORY, "no host memory for an event"), NULL;
        if (GB_CU(e, cuEventCreate, &event->handle, NO_TIMING)) return free(event), NULL;
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
    if (keep) event->next = spare[device], spare[device] = event, spares[device]++;
    pthread_mutex_unlock(&gb_cu_events_lock);
    if (keep) return;
    if (gb_cu_enter_to_release(device)) {
        gb_cu.cuEventDestroy_v2(
            event->handle); /* also while it is not done: the driver waits with that */
        gb_cu_leave();
    }
    free(event);
}

gb_cuda_event *gb_cu_record_event(gb_cuda_queue on, gb_cuda_error *e) {
    gb_cuda_event *event = take_event(on, gb_cu_key_of(on.stream), e);
    if (event && GB_CU(e, cuEventRecord, event->handle, GB_CU_STREAM(on)))
        return gb_cuda_release_event(event), NULL;
    return event;
}

/* A stream is behind itself, and the legacy default stream and every thread's default one of the
 * same device are behind each other. */
int gb_cu_in_order(const gb_cuda_event *event, gb_cuda_queue on) {
    if (event->on.device != on.device || event->key == GB_CU_UNKNOWN) return 0;
    gb_cu_key key = gb_cu_key_of(on.stream);
    return event->key == key || (event->key == GB_CU_LEGACY && on.stream == 2) ||
           (key == GB_CU_LEGACY && event->on.stream == 2);
}

/* A stream that is somebody else's may have been destroyed; the context has not. From
 * CUDA 12.5 on it can be asked about all its streams. */
gb_cuda_event *gb_cu_record_all(gb_cu_device *d, int device) {
    gb_cuda_event *event =
        gb_cu.cuCtxRecordEvent ? take_event((gb_cuda_queue){device, 0}, GB_CU_UNKNOWN, NULL) : NULL;
    if (event && gb_cu.cuCtxRecordEvent(d->context, event->handle) != CUDA_SUCCESS)
        return gb_cuda_release_event(event), NULL;
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

/* A copy that is nearly done is not worth a sleep, which takes a tenth of a millisecond however
 * short it is meant to be: the first looks are a turn of the clock apart, with pauses that grow to
 * some 50 us. */
static void pause_awake(int look) {
    for (int64_t until = gb_nanoseconds() + (200 << look / 2); gb_nanoseconds() < until;)
        __asm__ volatile("" ::: "memory");
}

/* Asks again and again, in the end with sleeps that grow to half a millisecond: cuEventSynchronize
 * could not be left when the time is up. */
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
    if (gb_cu_in_order(event, then)) return 0;
    if (!gb_cu_enter(then.device, e)) return -1;
    return gb_cu_left(GB_CU(e, cuStreamWaitEvent, GB_CU_STREAM(then), event->handle, 0));
}

int gb_cuda_stream_wait_stream(gb_cuda_queue later, gb_cuda_queue earlier, gb_cuda_error *e) {
    gb_cuda_event asked = {.on = earlier, .key = gb_cu_key_of(earlier.stream)}, *event;
    if (gb_cu_in_order(&asked, later)) return 0;
    if (gb_cuda_record(earlier, &event, e)) return -1;
    int bad = gb_cuda_stream_wait_event(event, later, e);
    gb_cuda_release_event(event);
    return bad;
}
