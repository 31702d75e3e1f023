/* checksum.c: checksums of arrays of any strides. */
#include "checksum.h"
#include "../transfer/transfer.h"

#include <string.h>

enum { RUN = 256 }; /* elements at a time: their states and words stay in the first cache */

#define ODD 0x9E3779B97F4A7C15u

/* The finalizer of splitmix64: each bit depends on all. A state after one more word is
 * mixed(state * ODD + word). */
static inline uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* n states: those after the words base, base + 1, ..., and those after one more word each. */
#define KERNELS(isa, count, add)                                                     \
    isa static void count(uint64_t *state, uint64_t base, int64_t n) {               \
        for (int64_t i = 0; i < n; i++) state[i] = mixed(base + (uint64_t)i);        \
    }                                                                                \
    isa static void add(uint64_t *restrict state, const uint64_t *word, int64_t n) { \
        for (int64_t i = 0; i < n; i++) state[i] = mixed(state[i] * ODD + word[i]);  \
    }

KERNELS(, count_plain, add_plain)
#ifdef __x86_64__ /* 0.7 of the time */
KERNELS(__attribute__((target("avx2"))), count_avx2, add_avx2)
#endif

#define FETCH(type)                             \
    for (int64_t i = 0; i < n; i++) {           \
        type x;                                 \
        memcpy(&x, src + i * stride, sizeof x); \
        word[i] = x;                            \
    }                                           \
    break

static void fetch(uint64_t *word, const char *src, int64_t stride, int64_t n, int size) {
    switch (size) {
    case 1: FETCH(uint8_t);
    case 2: FETCH(uint16_t);
    case 4: FETCH(uint32_t);
    default: FETCH(uint64_t);
    }
}

/* The sum over n elements, whose states know their places. */
static uint64_t sum_of_run(const gb_exact_checksum *job, const char *src, int64_t stride,
                           uint64_t *state, int64_t n) {
    uint64_t word[RUN], sum = 0;
    for (int64_t k = 0; k < job->words; k++) {
        fetch(word, src + k * job->step, stride, n, job->word);
        job->add(state, word, n);
    }
    for (int64_t i = 0; i < n; i++) sum += state[i];
    return sum;
}

/* The sum over some indices of an axis, and all of the axes after it. */
static uint64_t sum_of_axes(const gb_exact_checksum *job, int axis, const char *src, uint64_t place,
                            int64_t first, int64_t end) {
    uint64_t state[RUN], sum = 0, base = place * ODD + (uint64_t)job->start[axis];
    int64_t stride = job->strides[axis];
    if (axis < job->ndim - 1) {
        for (int64_t i = first; i < end; i++)
            sum += sum_of_axes(job, axis + 1, src + i * stride, mixed(base + (uint64_t)i), 0,
                               job->shape[axis + 1]);
        return sum;
    }
    for (int64_t i = first; i < end; i += RUN) {
        int64_t n = end - i < RUN ? end - i : RUN;
        job->count(state, base + (uint64_t)i, n);
        sum += sum_of_run(job, src + i * stride, stride, state, n);
    }
    return sum;
}

static void run(void *of, int64_t first, int64_t end) {
    gb_exact_checksum *job = of;
    uint64_t seed = job->seed;
    uint64_t sum = job->ndim ? sum_of_axes(job, 0, job->data, seed, first, end)
                             : sum_of_run(job, job->data, 0, &seed, 1);
    __atomic_fetch_add(&job->sum, sum, __ATOMIC_RELAXED);
}

gb_work gb_exact_checksum_work(gb_exact_checksum *job) {
    int64_t pieces = job->ndim ? job->shape[0] : 1, elements = 1;
    for (int i = 0; i < job->ndim; i++) elements *= job->shape[i];
    job->count = count_plain;
    job->add = add_plain;
#ifdef __x86_64__
    if (strncmp(gb_copy_kernels_name(), "avx", 3) == 0) {
        job->count = count_avx2;
        job->add = add_avx2;
    }
#endif
    return (gb_work){.run = run,
                     .of = job,
                     .pieces = pieces,
                     .batch = gb_work_batch(elements, pieces, 16 << 10), /* some 30 us */
                     .threads = gb_work_threads(elements, 64 << 10)};
}
