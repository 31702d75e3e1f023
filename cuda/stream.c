/* stream.c: streams of our own, which live until they are destroyed, and what becomes of the blocks
 * that were used on one. */
#include "blocks.h"
#include "fork.h"

#define NON_BLOCKING 1 /* CU_STREAM_NON_BLOCKING */

static struct own {
    struct own *next;
    gb_cu_key key;
    int device;
} *own_streams;

int gb_cuda_create_stream(int device, gb_cuda_stream *stream, gb_cuda_error *e) {
    struct own *own = malloc(sizeof *own);
    if (!own) return gb_cu_fail(e, GB_CUDA_NO_MEMORY, "no host memory for a stream");
    CUstream made = NULL;
    int bad = !gb_cu_enter(device, e);
    if (!bad) {
        bad = GB_CU(e, cuStreamCreate, &made, NON_BLOCKING);
        gb_cu_leave();
    }
    if (bad) return free(own), -1;
    *stream = (gb_cuda_stream)(uintptr_t)made;
    *own = (struct own){NULL, *stream, device};
    pthread_mutex_lock(&gb_cu_streams_lock);
    own->next = own_streams;
    own_streams = own;
    pthread_mutex_unlock(&gb_cu_streams_lock);
    return 0;
}

int gb_cu_is_ours(int device, gb_cu_key key) {
    pthread_mutex_lock(&gb_cu_streams_lock);
    struct own *s = own_streams;
    while (s && !(s->key == key && s->device == device)) s = s->next;
    pthread_mutex_unlock(&gb_cu_streams_lock);
    return s != NULL;
}

/* A stream of ours ends: what was freed on it, and what will be, waits for an event instead. With
 * the context current. */
static void detach(gb_cu_record *r, gb_cuda_stream stream) {
    gb_cuda_event *event = gb_cu_record_event((gb_cuda_queue){r->block.device, stream}, NULL);
    r->key = event ? GB_CU_NOBODY : GB_CU_UNKNOWN;
    if (!event) return;
    event->next = r->in_flight;
    r->in_flight = event;
}

static void detach_all(int device, gb_cuda_stream stream) {
    for (int kind = 0; kind < GB_CUDA_KINDS; kind++) {
        gb_cu_pool *pool = gb_cu_pool_of(kind, device);
        if (!pool || kind == GB_CUDA_PINNED) continue;
        pthread_mutex_lock(pool->lock);
        for (int bin = 0; bin < GB_CU_BINS; bin++)
            for (gb_cu_record *r = pool->bins[bin]; r; r = r->next)
                if (r->key == stream) detach(r, stream);
        pthread_mutex_lock(&gb_cu_live_lock);
        for (gb_cu_record *r = gb_cu_live_next(NULL); r; r = gb_cu_live_next(r))
            if (r->slab->pool == pool && r->key == stream) detach(r, stream);
        pthread_mutex_unlock(&gb_cu_live_lock);
        pthread_mutex_unlock(pool->lock);
    }
}

void gb_cuda_destroy_stream(int device, gb_cuda_stream stream) {
    pthread_mutex_lock(&gb_cu_streams_lock);
    struct own **link = &own_streams, *gone;
    while ((gone = *link) && !(gone->key == stream && gone->device == device)) link = &gone->next;
    if (gone) *link = gone->next;
    pthread_mutex_unlock(&gb_cu_streams_lock);
    free(gone);
    if (!gone || gb_cu_in_child || !gb_cu_enter_to_release(device)) return;
    detach_all(device, stream);
    gb_cu.cuStreamDestroy_v2((CUstream)(uintptr_t)stream);
    gb_cu_leave();
}
