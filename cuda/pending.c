/* pending.c: our own asynchronous work on a block: who else must wait for it. */
#include "pool.h"

static gb_cu_record *lock_record(gb_cuda_block *block) {
    gb_cu_record *r = (gb_cu_record *)block;
    pthread_mutex_lock(&r->chunk->pool->lock);
    return r;
}

static void unlock_record(gb_cu_record *r) { pthread_mutex_unlock(&r->chunk->pool->lock); }

/* One event for each stream is enough: the newest. Whether any is pending is read without
 * the lock: the list is never empty in between. */
static void push(gb_cu_record *r, gb_cuda_event *event) {
    event->next = r->pending;
    __atomic_store_n(&r->pending, event, __ATOMIC_RELEASE);
    for (gb_cuda_event **link = &event->next; *link; link = &(*link)->next)
        if ((*link)->key == event->key && (*link)->device == event->device) {
            gb_cuda_event *older = *link;
            *link = older->next;
            gb_cuda_forget(older);
            break;
        }
}

int gb_cuda_mark_on(gb_cuda_block *block, int device, gb_cuda_stream stream, gb_cuda_error *e) {
    if (!gb_cu_enter(device, e)) return -1;
    gb_cuda_event *event = gb_cu_record_event(device, stream, e);
    if (event) {
        gb_cu_record *r = lock_record(block);
        push(r, event);
        unlock_record(r);
    }
    gb_cu_leave();
    return event ? 0 : -1;
}

int gb_cuda_mark(gb_cuda_block *block, gb_cuda_stream stream, gb_cuda_error *e) { return gb_cuda_mark_on(block, block->device, stream, e); }

static int wait_for_all(gb_cu_record *r, gb_cuda_stream stream, gb_cuda_error *e) {
    gb_cu_key key = gb_cu_key_of(stream);
    for (gb_cuda_event *event = r->pending; event; event = event->next)
        if ((event->key != key || event->device != r->block.device) &&
            GB_CU(e, cuStreamWaitEvent, (CUstream)(uintptr_t)stream, event->handle, 0)) return -1;
    return 0;
}

/* With work on several streams the newest one is made to wait for the others, so that one
 * stream says it all. */
static int join(gb_cu_record *r, gb_cuda_stream *stream, gb_cuda_error *e) {
    int elsewhere = r->pending->device != r->block.device;   /* then the default stream here stands for all */
    *stream = elsewhere ? 1 : r->pending->stream;
    if (!r->pending->next && !elsewhere) return 1;
    if (wait_for_all(r, *stream, e)) return -1;
    gb_cuda_event *event = gb_cu_record_event(r->block.device, *stream, e);
    if (!event) return -1;
    gb_cuda_event *older = r->pending, *next;
    __atomic_store_n(&r->pending, event, __ATOMIC_RELEASE);
    for (; older; older = next) {
        next = older->next;
        gb_cuda_forget(older);
    }
    return 1;
}

int gb_cuda_pending(gb_cuda_block *block, gb_cuda_stream *stream, gb_cuda_error *e) {
    gb_cu_record *r = (gb_cu_record *)block;
    if (!__atomic_load_n(&r->pending, __ATOMIC_ACQUIRE)) return 0;   /* as nearly always: no driver call */
    if (!gb_cu_enter(block->device, e)) return -1;
    lock_record(block);
    int answer = gb_cu_all_done(&r->pending) ? 0 : join(r, stream, e);
    unlock_record(r);
    gb_cu_leave();
    return answer;
}

int gb_cuda_settle(gb_cuda_block *block, gb_cuda_stream stream, gb_cuda_error *e) {
    gb_cu_record *r = (gb_cu_record *)block;
    if (!__atomic_load_n(&r->pending, __ATOMIC_ACQUIRE)) return 0;
    if (!gb_cu_enter(block->device, e)) return -1;
    lock_record(block);
    int bad = gb_cu_all_done(&r->pending) ? 0 : wait_for_all(r, stream, e);
    unlock_record(r);
    gb_cu_leave();
    return bad;
}
