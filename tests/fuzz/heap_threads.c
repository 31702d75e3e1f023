/* heap_threads.c: the heap alone, on many threads: blocks are taken, written, shared, handed to
 * other threads and released there, while others trim, set limits, count and list. Built with a
 * sanitizer (tests/sanitize.sh heap):
 *
 *     heap_threads [ROUNDS [THREADS [SEED]]]
 *
 * Exit status 0: every block held what was written into it, and nothing is left. */
#include "../../alloc/heap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HELD = 64,
    SHELF = 256,
    LAPS = 4
}; /* of the rounds: what happens while a thread ends is looked at, too */

typedef struct piece {
    char *data;
    int64_t span;
    unsigned char mark;
} piece;

/* Where threads leave blocks for others. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static piece shelf[SHELF];
static int on_shelf;
static atomic_int failures;
static atomic_long taken;
static long rounds = 20000;

static uint64_t next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void fail(const char *what) {
    atomic_fetch_add(&failures, 1);
    fprintf(stderr, "heap_threads: %s\n", what);
}

static int take(uint64_t *state, piece *p) {
    static const int64_t boundaries[] = {8, 64, 64, 64, 256, 4096, 96, 640};
    int64_t largest = next(state) % 400 == 0 ? 3 << 20 : next(state) % 16 == 0 ? 60000 : 900;
    gb_heap_layout want = {.span = (int64_t)(next(state) % (uint64_t)largest) + 1,
                           .boundary = boundaries[next(state) % 8]};
    want.offset = (int64_t)(next(state) % (uint64_t)want.boundary) & ~(int64_t)7;
    want.reserve = gb_heap_reserve(want.span, want.boundary);
    void *data;
    int fresh, answer;
    while ((answer = gb_heap_take(&want, &data, &fresh)) == GB_HEAP_NEED_SLAB)
        if (gb_heap_refill(want.reserve) < 0) return 0;
    if (answer != GB_HEAP_TAKEN) return 0;
    *p = (piece){data, want.span, (unsigned char)(next(state) | 1)};
    if ((int64_t)((uintptr_t)data % (uint64_t)want.boundary) != want.offset)
        fail("a block lies elsewhere than asked");
    if (gb_heap_block_bytes(data) < want.span) fail("a block is too small");
    if (fresh && (p->data[0] || p->data[p->span - 1])) fail("fresh memory is not zero");
    if (!fresh && next(state) % 8 == 0 && gb_heap_zero(data, want.span) == 0 &&
        (p->data[0] || p->data[p->span - 1]))
        fail("zeroed memory is not zero");
    memset(p->data, p->mark, (size_t)p->span);
    if (next(state) % 16 == 0) gb_heap_set_note(data, strdup("driver.c:1\na block"));
    atomic_fetch_add(&taken, 1);
    return 1;
}

static void give_back(const piece *p) {
    for (int64_t i = 0; i < p->span; i += 1 + p->span / 97)
        if ((unsigned char)p->data[i] != p->mark) {
            fail("somebody else wrote into a block");
            break;
        }
    gb_heap_release(p->data);
}

static void exchange(uint64_t *state, piece *mine) {
    pthread_mutex_lock(&lock);
    if (on_shelf < SHELF && next(state) % 2) {
        gb_heap_share(mine->data); /* both hold it, and release it where they are */
        shelf[on_shelf++] = *mine;
    } else if (on_shelf > 0) {
        piece other = shelf[--on_shelf];
        pthread_mutex_unlock(&lock);
        give_back(&other);
        return;
    }
    pthread_mutex_unlock(&lock);
}

static void look(uint64_t *state) {
    gb_heap_stats stats;
    gb_heap_live live[8];
    switch (next(state) % 5) {
    case 0: gb_heap_trim((int64_t)(next(state) % (1 << 20))); break;
    case 1:
        gb_heap_get_stats(&stats);
        if (stats.live_bytes < 0 || stats.live_buffers < 0) fail("counts below zero");
        break;
    case 2: gb_heap_live_blocks(live, 8); break;
    case 3: gb_heap_set_limit(next(state) % 2 ? -1 : (int64_t)64 << 20); break;
    default: gb_heap_set_cache_bound((int64_t)(next(state) % (8 << 20)));
    }
}

static void *work(void *seed) {
    uint64_t state = (uint64_t)(uintptr_t)seed * 0x9E3779B97F4A7C15u + 1;
    piece held[HELD];
    int n = 0;
    for (long i = 0; i < rounds / LAPS && !atomic_load(&failures); i++) {
        if (n < HELD && next(&state) % 2) n += take(&state, &held[n]);
        else if (n > 0) {
            int which = (int)(next(&state) % (uint64_t)n);
            if (next(&state) % 4 == 0) exchange(&state, &held[which]);
            give_back(&held[which]);
            held[which] = held[--n];
        }
        if (next(&state) % 64 == 0) look(&state);
    }
    while (n > 0) give_back(&held[--n]);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 1) rounds = atol(argv[1]);
    int threads = argc > 2 ? atoi(argv[2]) : 4;
    uintptr_t seed = argc > 3 ? (uintptr_t)atol(argv[3]) : 1;
    pthread_t all[64];
    if (threads < 1 || threads > 64) return 2;
    for (int lap = 0; lap < LAPS; lap++) {
        for (int i = 0; i < threads; i++)
            pthread_create(&all[i], NULL, work,
                           (void *)((seed * LAPS + (uintptr_t)lap) * 64 + (uintptr_t)i));
        for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
    }
    while (on_shelf > 0) give_back(&shelf[--on_shelf]);
    gb_heap_stats stats;
    gb_heap_get_stats(&stats);
    if (stats.live_bytes || stats.live_buffers) fail("something is left");
    gb_heap_trim(0);
    gb_heap_get_stats(&stats);
    if (stats.cached_bytes) fail("trimming leaves memory");
    printf("heap: %ld blocks on %d threads, %d failures\n", atomic_load(&taken), threads,
           atomic_load(&failures));
    return atomic_load(&failures) != 0;
}
