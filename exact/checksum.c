/* checksum.c: checksums of arrays of any strides. An element's state begins as a key of its place,
 * and takes in one word after another. */
#include "checksum.h"

#include <string.h>

#define STEP 0x9E3779B97F4A7C15u   /* from the key of an element to the next one's: odd */
#define FACTOR 0xBF58476D1CE4E5B9u /* odd */

/* The finalizer of splitmix64: each bit depends on all. */
static inline uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * FACTOR;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* A state after one more word: both halves of the product, so that high bits reach low ones. */
static inline uint64_t after(uint64_t state, uint64_t word) {
    unsigned __int128 product = (unsigned __int128)(state ^ word) * FACTOR;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The sum over n elements of so many words each; `key` is that of the first element. */
#define ELEMENTS(type, words)                           \
    for (int64_t i = 0; i < n; i++) {                   \
        uint64_t state = key;                           \
        for (int64_t k = 0; k < (words); k++) {         \
            type word;                                  \
            memcpy(&word, src + k * step, sizeof word); \
            state = after(state, word);                 \
        }                                               \
        sum += state;                                   \
        key += STEP;                                    \
        src += stride;                                  \
    }
#define ROW(type)                                  \
    if (words == 1) { /* two thirds of the time */ \
        ELEMENTS(type, 1)                          \
    } else {                                       \
        ELEMENTS(type, words)                      \
    }                                              \
    break

static uint64_t sum_of_row(const gb_exact_checksum *job, const char *src, int64_t stride,
                           uint64_t key, int64_t n) {
    int64_t words = job->words, step = job->step;
    uint64_t sum = 0;
    switch (job->word) {
    case 1: ROW(uint8_t);
    case 2: ROW(uint16_t);
    case 4: ROW(uint32_t);
    default: ROW(uint64_t);
    }
    return sum;
}

/* The sum over some indices of an axis, and all of the axes after it. */
static uint64_t sum_of_axes(const gb_exact_checksum *job, int axis, const char *src, uint64_t place,
                            int64_t first, int64_t end) {
    uint64_t sum = 0, index = (uint64_t)job->start[axis] + (uint64_t)first;
    int64_t stride = job->strides[axis];
    src += first * stride;
    if (axis == job->ndim - 1)
        return sum_of_row(job, src, stride, place + index * STEP, end - first);
    for (int64_t i = first; i < end; i++) {
        sum +=
            sum_of_axes(job, axis + 1, src, mixed(place * STEP + index), 0, job->shape[axis + 1]);
        index++;
        src += stride;
    }
    return sum;
}

static void run(void *of, int64_t first, int64_t end) {
    gb_exact_checksum *job = of;
    uint64_t sum = job->ndim ? sum_of_axes(job, 0, job->data, job->seed, first, end)
                             : sum_of_row(job, job->data, 0, job->seed, 1);
    __atomic_fetch_add(&job->sum, sum, __ATOMIC_RELAXED);
}

gb_work gb_exact_checksum_work(gb_exact_checksum *job) {
    int64_t pieces = job->ndim ? job->shape[0] : 1, elements = 1;
    for (int i = 0; i < job->ndim; i++) elements *= job->shape[i];
    return (gb_work){.run = run,
                     .of = job,
                     .pieces = pieces,
                     .batch = gb_work_batch(elements, pieces, 64 << 10), /* some 40 us */
                     .threads = gb_work_threads(elements, 256 << 10)};
}
