/* queue.c: streams, events, and work that runs when it may. */
#include "fake.h"

#include <stdlib.h>
#include <unistd.h>

static fake_stream *streams;
static fake_event *events;
static fake_work *queue, **queue_end = &queue;
static int64_t open_events, open_streams;
static __thread char thread_mark;

EXPORT int64_t fake_open_events(void) { return open_events; }
EXPORT int64_t fake_open_streams(void) { return open_streams; }
EXPORT void fake_hold(int hold) { fake.hold = hold; }

static fake_stream *new_stream(fake_context *context, int blocking, int legacy) {
    fake_stream *s = calloc(1, sizeof *s);
    *s = (fake_stream){streams, context, blocking, legacy, 0};
    return streams = s;
}

/* The default streams come into being when they are first named. */
fake_stream *fake_resolve(CUstream handle, fake_context *context) {
    static struct {
        fake_context *context;
        void *thread;
        fake_stream *stream;
    } defaults[1024];
    uintptr_t number = (uintptr_t)handle;
    if (number <= 2) {
        void *thread = number == 2 ? &thread_mark : NULL;
        for (int i = 0; i < 1024; i++) {
            if (!defaults[i].stream) {
                defaults[i].context = context;
                defaults[i].thread = thread;
                defaults[i].stream = new_stream(context, number == 2, number != 2);
            }
            if (defaults[i].context == context && defaults[i].thread == thread)
                return defaults[i].stream;
        }
        abort();
    }
    fake_stream *s = streams;
    while (s && s != handle) s = s->next;
    if (s && !s->destroyed && s->context == context) return s;
    fake_misuse(!s             ? "%p is no stream"
                : s->destroyed ? "stream %p was destroyed"
                               : "stream %p belongs to another context",
                handle);
    return NULL;
}

fake_work *fake_new_work(fake_stream *stream, void (*run)(fake_work *)) {
    fake_work *w = calloc(1, sizeof *w);
    w->stream = stream;
    w->run = run;
    return w;
}

/* What waits for an event waits for the recording that it met: a later one, on another stream, may
 * be done before. */
static int may_run(const fake_work *w) {
    for (fake_work *q = queue; q != w; q = q->next)
        if (fake_is_behind(w, q)) return 0;
    return 1;
}

static void run(fake_work *w) {
    fake_work **link = &queue;
    while (*link != w) link = &(*link)->next;
    *link = w->next;
    if (!*link) queue_end = link;
    fake.acting = w->between ? NULL : w->stream->context;
    if (w->run) w->run(w);
    else if (!w->waits && w->event->done < w->version) w->event->done = w->version;
    fake.acting = NULL;
    free(w->staged);
    free(w->parameters);
    free(w);
}

static int is_slow(const fake_work *w) { return w->stream->context->device == fake.slow; }

/* One piece of work, of this stream if any of its may run; the number that ran. */
static int step(fake_stream *only, fake_stream *rather, fake_context *there) {
    fake_work *w, *any = NULL;
    for (w = queue; w; w = w->next) {
        if ((only && w->stream != only) || !may_run(w)) continue;
        if (!any || (is_slow(any) && !is_slow(w))) any = w;
        if (w->stream == rather || w->stream->context == there)
            break; /* what somebody waits for; no more than it takes */
    }
    if (!w) w = any;
    if (w) run(w);
    return w != NULL;
}

static int is_waiting(fake_stream *stream, fake_context *context) {
    for (fake_work *w = queue; w; w = w->next)
        if (stream ? w->stream == stream : !context || w->stream->context == context) return 1;
    return 0;
}

void fake_drain(fake_stream *stream, fake_context *context) {
    while (is_waiting(stream, context) && step(NULL, stream, context)) {}
}

int fake_submit(fake_work *w) {
    static uint64_t submitted;
    w->number = ++submitted;
    *queue_end = w;
    queue_end = &w->next;
    if (fake.watch) fake_look_for_races(queue, w);
    if (!fake.hold) fake_drain(NULL, NULL);
    return 0;
}

/* ---- for tests ---- */

EXPORT int64_t fake_pump(uint64_t stream, int64_t most) { /* ~0: of any stream */
    int64_t n = 0;
    fake_lock();
    while (n < most &&
           step(stream == ~(uint64_t)0 ? NULL : (fake_stream *)(uintptr_t)stream, NULL, NULL))
        n++;
    fake_unlock();
    return n;
}

EXPORT int64_t fake_queued(void) {
    int64_t n = 0;
    fake_lock();
    for (fake_work *w = queue; w; w = w->next) n++;
    fake_unlock();
    return n;
}

/* A stream of another library's in the primary context of GPU 0: it waits for nobody. */
EXPORT uint64_t fake_foreign_stream(void) {
    static fake_stream *foreign;
    fake_lock();
    if (!foreign) foreign = new_stream(fake_primary(0), 0, 0);
    fake_unlock();
    return (uint64_t)(uintptr_t)foreign;
}

/* A stream of another library's on any GPU; it is never destroyed. */
EXPORT uint64_t fake_stream_on(int device, int blocking) {
    fake_lock();
    fake_primary(device)->device = device;
    fake_primary(device)->retained++; /* by whoever made the stream */
    fake_stream *s = new_stream(fake_primary(device), blocking, 0);
    fake_unlock();
    return (uint64_t)(uintptr_t)s;
}

static int pumping, microseconds;
static pthread_t pump;
static void *pump_on(void *unused) {
    while (__atomic_load_n(&pumping, __ATOMIC_ACQUIRE)) {
        usleep((useconds_t)microseconds);
        fake_pump(~(uint64_t)0, 1);
    }
    return unused;
}

/* A thread that does one piece of work every so often, as a device would; 0 ends it. */
EXPORT void fake_run_every(int us) {
    if (pumping) {
        __atomic_store_n(&pumping, 0, __ATOMIC_RELEASE);
        pthread_join(pump, NULL);
        fake_pump(~(uint64_t)0, INT64_MAX);
    }
    fake.hold = us > 0;
    microseconds = us;
    pumping = us > 0;
    if (pumping) pthread_create(&pump, NULL, pump_on, NULL);
}

/* ---- entry points ---- */

EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    BEGIN_WITHIN(cuStreamCreate, context)
    *stream = new_stream(context, !(flags & 1), 0);
    open_streams++;
    END(CUDA_SUCCESS);
}

EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
    BEGIN_LATE(cuStreamDestroy_v2)
    NEED_CONTEXT(context)
    fake_stream *s = (uintptr_t)stream > 2 ? fake_resolve(stream, context) : NULL;
    if (!s) END(400);
    s->destroyed = 1; /* its work is still done */
    open_streams--;
    END_LATE(CUDA_SUCCESS);
}

EXPORT CUresult cuStreamGetCtx(CUstream stream, CUcontext *context) {
    BEGIN(cuStreamGetCtx)
    fake_stream *s = streams;
    while (s && s != (fake_stream *)stream) s = s->next;
    if (!s || s->destroyed) {
        fake_misuse("%p is no stream", (void *)stream);
        END(400);
    }
    *context = s->context;
    END(CUDA_SUCCESS);
}

EXPORT CUresult cuStreamSynchronize(CUstream stream) {
    BEGIN_WITHIN(cuStreamSynchronize, context)
    fake_stream *s = fake_resolve(stream, context);
    if (!s) END(400);
    fake_drain(s, NULL);
    END(CUDA_SUCCESS);
}

static fake_event *resolve_event(CUevent event, fake_context *context, int anywhere) {
    fake_event *v = events;
    while (v && v != event) v = v->next;
    if (v && !v->destroyed && (anywhere || v->context == context)) return v;
    fake_misuse(!v             ? "%p is no event"
                : v->destroyed ? "event %p was destroyed"
                               : "event %p belongs to another context",
                (void *)event);
    return NULL;
}

EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags) {
    BEGIN_WITHIN(cuEventCreate, context)
    fake_event *v = calloc(1, sizeof *v);
    v->next = events;
    v->context = context;
    *event = events = v;
    open_events++;
    END(flags > 7 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

EXPORT CUresult cuEventDestroy_v2(CUevent event) {
    BEGIN_LATE(cuEventDestroy_v2)
    NEED_CONTEXT(context)
    fake_event *v = resolve_event(event, context, 1);
    if (!v) END(400);
    v->destroyed = 1;
    open_events--;
    END_LATE(CUDA_SUCCESS);
}

static CUresult enqueue_event(fake_event *v, fake_stream *s, int waits, int after_all) {
    if (!v || !s) END(400);
    if (!waits) v->recorded++;
    fake_work *w = fake_new_work(s, NULL);
    w->event = v;
    w->version = v->recorded;
    w->waits = waits;
    w->after_all = after_all;
    END(fake_submit(w));
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
    BEGIN_WITHIN(cuEventRecord, context)
    return enqueue_event(resolve_event(event, context, 0), fake_resolve(stream, context), 0, 0);
}

/* Done when everything that is queued now is: a piece of work that keeps nobody back. */
EXPORT CUresult cuCtxRecordEvent(CUcontext context, CUevent event) {
    BEGIN(cuCtxRecordEvent)
    return enqueue_event(resolve_event(event, context, 0), new_stream(context, 0, 0), 0, 1);
}

EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    BEGIN_WITHIN(cuStreamWaitEvent, context)
    (void)flags;
    return enqueue_event(resolve_event(event, context, 1), fake_resolve(stream, context), 1, 0);
}

EXPORT CUresult cuEventQuery(CUevent event) {
    BEGIN_WITHIN(cuEventQuery, context)
    fake_event *v = resolve_event(event, context, 1);
    if (!v) END(400);
    if (fake.awaited && v->done < v->recorded && --fake.awaited == 0) fake_drain(NULL, NULL);
    END(v->done >= v->recorded ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

EXPORT CUresult cuCtxSynchronize(void) {
    BEGIN_WITHIN(cuCtxSynchronize, context)
    fake_drain(NULL, context);
    END(CUDA_SUCCESS);
}
