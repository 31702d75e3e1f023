/* magazine.c: gb_heap_take and gb_heap_release: a thread's own blocks first, then the heap's. See
 * magazine.h. */
#include "bound.h"
#include "magazine.h"
#include "heap.h"
#include "process.h"

#ifndef GB_HEAP_MAGAZINES

int gb_heap_take(const gb_heap_layout *want, void **data, int *fresh) {
    return gb_heap_take_shared(want, data, fresh);
}
void gb_heap_release(void *data) { gb_heap_release_shared(data); }

#else

#include <pthread.h>
#include <stdlib.h>

#define heap gb_heap_state
#define LARGEST (16 << 10) /* bytes of a block that is kept */
#define MOST 32            /* blocks of a size, and at most as many as have */
#define MOST_BYTES (64 << 10)
#define NUMBERS 64 /* of blocks, which a thread gets at once */

typedef struct magazine {
    gb_heap_header *first;
    int count;
} magazine;

typedef struct own {
    gb_spin lock;
    int off; /* guards, or a limit on all: the heap decides */
    struct own *before, *after;
    uint64_t next_id, last_id;
    gb_heap_stats stats; /* what the heap has not been told yet; peak_bytes: the highest that
                            live_bytes was meanwhile */
    magazine sizes[GB_HEAP_SMALL_BINS];
} own;

static gb_spin list_lock;
static own *all;
static int refused;
static pthread_key_t ends;
static __thread own *mine_;
static __thread int ended;

static int most_of(int64_t reserve) {
    return reserve > MOST_BYTES / MOST ? (int)(MOST_BYTES / reserve) : MOST;
}

/* ---- the caller holds the thread's lock and the heap's ---- */

static void tell(own *t) {
    if (heap.stats.live_bytes + t->stats.peak_bytes > heap.stats.peak_bytes)
        heap.stats.peak_bytes = heap.stats.live_bytes + t->stats.peak_bytes;
    heap.stats.live_bytes += t->stats.live_bytes;
    heap.stats.live_buffers += t->stats.live_buffers;
    heap.stats.allocations += t->stats.allocations;
    t->stats = (gb_heap_stats){0};
}

/* Blocks go back until keep of them are left. */
static void give_back(magazine *m, int keep) {
    for (; m->count > keep; m->count--) {
        gb_heap_header *h = m->first;
        m->first = (gb_heap_header *)h->data;
        gb_heap_put(h);
    }
}

static void give_back_all(own *t) {
    for (int i = 0; i < GB_HEAP_SMALL_BINS; i++) give_back(&t->sizes[i], 0);
}

/* ---- threads ---- */

static void end(void *thread) {
    own *t = thread;
    mine_ = NULL;
    ended = 1; /* what other destructors release goes to the heap */
    gb_spin_lock(&list_lock);
    if (t->before) t->before->after = t->after;
    else all = t->after;
    if (t->after) t->after->before = t->before;
    gb_spin_lock(&heap.lock);
    tell(t); /* before others see that it is gone: a sum, or a fork, has it once */
    gb_spin_unlock(&list_lock);
    give_back_all(t);
    gb_heap_slab *gone = gb_heap_detach(gb_heap_bound());
    gb_spin_unlock(&heap.lock);
    gb_heap_destroy(gone);
    free(t);
}

static void start(void) { refused = pthread_key_create(&ends, end) != 0; }

static own *begin(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    void *room = NULL;
    pthread_once(&once, start);
    if (refused || ended || posix_memalign(&room, 128, sizeof(own)))
        return NULL; /* 128: no line of it is another's */
    own *t = room;
    *t = (own){0};
    if (pthread_setspecific(ends, t)) return free(t), NULL;
    gb_spin_lock(&list_lock);
    gb_spin_lock(&heap.lock);
    t->off = gb_debugging || heap.stats.limit >= 0;
    gb_spin_unlock(&heap.lock);
    t->after = all;
    if (all) all->before = t;
    all = t;
    gb_spin_unlock(&list_lock);
    return mine_ = t;
}

static inline own *mine(void) { return __builtin_expect(mine_ != NULL, 1) ? mine_ : begin(); }

/* ---- for all threads ---- */

void gb_heap_lock_all(void) {
    gb_spin_lock(&list_lock);
    for (own *t = all; t; t = t->after) gb_spin_lock(&t->lock);
    gb_spin_lock(&heap.lock);
    for (own *t = all; t; t = t->after) tell(t);
}

void gb_heap_unlock_all(void) {
    gb_spin_unlock(&heap.lock);
    for (own *t = all; t; t = t->after) gb_spin_unlock(&t->lock);
    gb_spin_unlock(&list_lock);
}

void gb_heap_empty_magazines(void) {
    for (own *t = all; t; t = t->after) give_back_all(t);
}

void gb_heap_allow_magazines(int allow) {
    gb_heap_empty_magazines();
    for (own *t = all; t; t = t->after) t->off = gb_debugging || !allow;
}

void gb_heap_forget_threads(void) {
    for (own *t = all, *after; t; t = after) {
        after = t->after;
        if (t == mine_) continue;
        give_back_all(t);
        free(t);
    }
    if ((all = mine_)) mine_->before = mine_->after = NULL;
}

/* ---- blocks ---- */

/* Half of what may be kept, so that as many releases fit. */
static void fill(own *t, magazine *m, int64_t reserve) {
    gb_spin_lock(&heap.lock);
    tell(t);
    for (int most = (most_of(reserve) + 1) / 2; m->count < most; m->count++) {
        gb_heap_header *h = gb_heap_draw(reserve);
        if (!h) break;
        h->data = (char *)m->first;
        m->first = h;
    }
    gb_spin_unlock(&heap.lock);
}

static void number(own *t) {
    gb_spin_lock(&heap.lock);
    t->next_id = heap.next_id;
    t->last_id = heap.next_id += NUMBERS;
    gb_spin_unlock(&heap.lock);
}

int gb_heap_take(const gb_heap_layout *want, void **data, int *fresh) {
    int64_t reserve = want->reserve;
    own *t = reserve <= LARGEST ? mine() : NULL;
    if (!t) return gb_heap_take_shared(want, data, fresh);
    gb_spin_lock(&t->lock);
    magazine *m = &t->sizes[gb_heap_small_bin(reserve)];
    if (!m->count && !t->off) fill(t, m, reserve);
    gb_heap_header *h = m->first;
    if (!h) return gb_spin_unlock(&t->lock), gb_heap_take_shared(want, data, fresh);
    m->first = (gb_heap_header *)h->data;
    m->count--;
    if (t->next_id == t->last_id) number(t);
    t->stats.allocations++;
    t->stats.live_buffers++;
    t->stats.live_bytes += reserve;
    if (t->stats.live_bytes > t->stats.peak_bytes) t->stats.peak_bytes = t->stats.live_bytes;
    *fresh = h->magic != GB_HEAP_FREED; /* never used: zero, as it was mapped */
    gb_heap_slab *s = h->slab;
    *data = gb_heap_dress(want, s, (char *)h, ++t->next_id);
    gb_heap_forbid((char *)*data + want->span, (char *)h + s->block);
    *gb_heap_pointer_below(*data) = h;
    gb_spin_unlock(&t->lock);
    return GB_HEAP_TAKEN;
}

void gb_heap_release(void *data) {
    gb_heap_header *h = gb_heap_header_of(data);
    if (!gb_heap_last_share(h)) return;
    gb_heap_slab *s = h->slab, *gone = NULL;
    own *t = s->block <= LARGEST ? mine() : NULL;
    if (!t) return gb_heap_free_shared(h);
    gb_spin_lock(&t->lock);
    if (t->off) return gb_spin_unlock(&t->lock), gb_heap_free_shared(h);
    char *note = h->note;
    h->note = NULL;
    h->magic = GB_HEAP_FREED;
    gb_heap_forbid(h + 1, (char *)h + s->block);
    magazine *m = &t->sizes[s->bin];
    h->data = (char *)m->first;
    m->first = h;
    t->stats.live_buffers--;
    t->stats.live_bytes -= s->block;
    if (++m->count > most_of(s->block)) {
        gb_spin_lock(&heap.lock);
        tell(t);
        give_back(m, m->count / 2);
        if (heap.empty_bytes > gb_heap_bound()) gone = gb_heap_detach(gb_heap_bound());
        gb_spin_unlock(&heap.lock);
    }
    gb_spin_unlock(&t->lock);
    free(note);
    if (gone) gb_heap_destroy(gone);
}

#endif
