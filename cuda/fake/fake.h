/* fake.h: a CUDA driver without a GPU, for tests. It exports the driver's entry points and,
 * beside them, fake_* functions that tests steer it with (control.c has the list).
 *
 * Device memory is host memory whose address faults when it is dereferenced: what the
 * "device" does goes through fake_at, which checks every access. Work is queued by stream
 * and runs at once, or, with fake_hold, when it is pumped; every rule of order that CUDA
 * has between streams, events and the legacy default stream of each device is kept, no more.
 * A device touches its own memory, managed and pinned memory; another GPU's by a copy between peers
 * alone. A kernel is launched on a stream of the context that is current, by a function of that
 * context; events are recorded on streams of theirs. A device can be slow (fake_slow: its work
 * comes last), and with fake_watch work that touches what unfinished work on another stream
 * touches, in no order with it, is misuse (watch.c). A wrong use of the API (a handle of another
 * context, a free of an unknown address) is recorded as misuse, with a line on standard error, and
 * answered with the driver's code for it.
 */
#pragma once

#include "../driver.h"

#include <pthread.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct CUctx_st {
    int device, retained, destroyed;
} fake_context;

typedef struct fake_stream {
    struct fake_stream *next;
    fake_context *context;
    int blocking, legacy, destroyed;
} fake_stream;

typedef struct CUevent_st {
    struct CUevent_st *next;
    fake_context *context;
    uint64_t recorded, done; /* the newest record, and the newest that the device has passed */
    int destroyed;
} fake_event;

typedef enum { FAKE_DEVICE, FAKE_PINNED, FAKE_MANAGED } fake_kind;

typedef struct fake_block {
    struct fake_block *next;
    CUdeviceptr address;
    char *backing; /* where the host may look */
    size_t bytes, mapped;
    fake_kind kind;
    fake_context *context;
    int ordered, freed;
} fake_block;

typedef struct fake_work {
    struct fake_work *next;
    fake_stream *stream;
    void (*run)(struct fake_work *);
    fake_event *event; /* record: passed; wait: waited for */
    uint64_t version;
    int waits, after_all, between; /* between: a copy from one GPU to another */
    CUdeviceptr to, from;
    uint64_t number; /* in the order of submission */
    int earlier;     /* watch.c: done before the work that was submitted last */
    size_t bytes, rows, to_pitch, from_pitch, count;
    unsigned value;
    int width;
    char *staged; /* a copy of pageable memory, freed with the work */
    void *kernel;
    void *parameters;
    int program; /* they are a gb_kernel_program, whose entries are looked at with fake_at: */
    void *(*look)(CUdeviceptr address, size_t bytes, const char *who);
    unsigned grid[3], block[3];
} fake_work;

/* control.c */
typedef struct fake_settings {
    int devices, version, pools, hold;
    int slow;    /* a device, or -1 */
    int watch;   /* races are misuse */
    int late;    /* pageable memory is read when its copy runs, not before */
    int refuse;  /* the code that modules are refused with, or 0 */
    int awaited; /* so many questions after an event until all work is done; 0: held work stays */
    int64_t memory;
    fake_context *acting; /* its work runs now, which may touch no other GPU's memory; NULL: a test,
                             or a copy between GPUs */
} fake_settings;
extern fake_settings fake;
enum {
#define INDEX(name, parameters) FAKE_##name,
    GB_CU_ENTRIES(INDEX, INDEX)
#undef INDEX
        FAKE_ENTRIES
};
int fake_enter(int entry); /* counts the call, takes the lock; the code it shall fail with, or 0 */
int fake_leave(int code);  /* lets the lock go, gives code back */
void fake_lock(void);      /* for what is no entry point */
void fake_unlock(void);
void fake_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Every entry point: BEGIN counts and injects; END answers. BEGIN_LATE is for those that
 * report errors of earlier work: an injected one does not keep them from acting. */
#define BEGIN_(entry)                  \
    int injected_ = fake_enter(entry); \
    if (injected_) return fake_leave(injected_);
#define BEGIN(name) BEGIN_(FAKE_##name)
#define BEGIN_LATE(name) int injected_ = fake_enter(FAKE_##name);
#define END_LATE(code) return fake_leave(injected_ ? injected_ : (code))
#define END(code) return fake_leave(code)

/* context.c */
fake_context *fake_primary(int device);
fake_context *fake_current(void); /* of this thread, or NULL */
#define NEED_CONTEXT(context)                                    \
    fake_context *context = fake_current();                      \
    if (!context) return fake_leave(CUDA_ERROR_INVALID_CONTEXT); \
    if (context->destroyed) return fake_leave(CUDA_ERROR_CONTEXT_IS_DESTROYED);
#define BEGIN_WITHIN(name, context) BEGIN_(FAKE_##name) NEED_CONTEXT(context)

/* memory.c */
fake_block *fake_find(CUdeviceptr address); /* the block it lies in, or NULL */
/* As the device sees it: aborts if there is no such memory; memory of another GPU is misuse. */
void *fake_at(CUdeviceptr address, size_t bytes, const char *who);
void fake_release(fake_block *block);

/* order.c */
int fake_is_behind(const fake_work *later,
                   const fake_work *earlier); /* directly: both are queued */

/* queue.c */
fake_stream *fake_resolve(CUstream stream, fake_context *context); /* NULL: misuse */
fake_work *fake_new_work(fake_stream *stream, void (*run)(fake_work *));
int fake_submit(fake_work *work); /* 0 */
void fake_drain(fake_stream *stream,
                fake_context *context); /* one stream, or NULL and a context, or all */

/* watch.c */
void fake_look_for_races(fake_work *queue, fake_work *fresh); /* fresh is the last of the queue */
