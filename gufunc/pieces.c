/* pieces.c: who does which elements, and waiting for the last of them.
 *
 * Workers take pieces from one counter. A kernel whose elements take a bounded time is
 * cut into chunks of so many bytes. Any other is measured: nothing is known of an element
 * that has not run, so pieces begin with one, and have at most FEW elements, or one part
 * in CAUTION of those that were quick before; one that took longer than LONG makes the
 * following ones shorter. A piece then takes little more than LONG or one element takes,
 * and where elements turn slow after n quick ones, at most FEW or n / CAUTION of them are
 * in one hand.
 *
 * While nothing is slow, where the cuts are depends on nothing but the number of elements;
 * from GRAIN elements on they are at multiples of it, so that vector loops of a kernel
 * meet the same elements whoever runs them.
 */
#include "call.h"

#include <sched.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { FEW = 8, CAUTION = 40, GRAIN = 64 };
#define LONG 1000000ll /* ns */

static int64_t load(const int64_t *p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
static void store(int64_t *p, int64_t v) { __atomic_store_n(p, v, __ATOMIC_RELAXED); }

static int64_t cut(const gb_gu_run *job, int64_t at) {
    int64_t end = at - at % job->chunk + job->chunk;
    if (job->measured) {
        int64_t quick = at - load(&job->origin), few = quick < FEW ? quick : FEW,
                careful = quick / CAUTION;
        if (careful < few) careful = few;
        careful = at + (careful > 0 ? careful : 1);
        if (careful - at >= GRAIN) careful &= -(int64_t)GRAIN;
        if (careful < end) end = careful;
    }
    return end < job->n ? end : job->n;
}

/* Without helpers nobody else touches the counters. */
static int alone(const gb_gu_run *job) {
    return __atomic_load_n(&job->holders, __ATOMIC_ACQUIRE) == 1;
}

int gb_gu_run_take(gb_gu_run *job, gb_gu_piece *p) {
    if (alone(job)) {
        p->at = job->next;
        if (p->at >= job->n) return 0;
        job->next = p->end = cut(job, p->at);
        return 1;
    }
    p->at = __atomic_load_n(&job->next, __ATOMIC_SEQ_CST);
    do {
        if (p->at >= job->n) return 0;
        p->end = cut(job, p->at);
    } while (!__atomic_compare_exchange_n(&job->next, &p->at, p->end, 1, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST));
    return 1;
}

/* What a piece teaches about those to come. */
static void learn(gb_gu_run *job, const gb_gu_piece *p, int64_t began, int64_t now) {
    int64_t len = p->end - p->at, ns = now - began;
    store(&job->ended, now);
    store(&job->pace, ns * 1024 / len);
    if (ns > load(&job->longest)) store(&job->longest, ns);
    if (!job->measured || ns <= LONG) return;
    int64_t next = (int64_t)((double)len * LONG / (double)ns);
    store(&job->origin, load(&job->next) - (next > FEW ? next * CAUTION : next));
}

static int busy(const gb_gu_run *job) {
    return __atomic_load_n(&job->done, __ATOMIC_SEQ_CST) < job->n ||
           __atomic_load_n(&job->attached, __ATOMIC_SEQ_CST) > 0;
}

int64_t gb_gu_run_finished(gb_gu_run *job, const gb_gu_piece *p, int64_t began) {
    int64_t now = 0;
    if (began) {
        now = gb_nanoseconds();
        learn(job, p, began, now);
    }
    if (alone(job)) return job->done += p->end - p->at, now;
    __atomic_add_fetch(&job->done, p->end - p->at, __ATOMIC_SEQ_CST);
    gb_gu_run_notice(job);
    return now;
}

int64_t gb_gu_run_left(const gb_gu_run *job) {
    return (int64_t)((double)(job->n - load(&job->next)) * (double)load(&job->pace) / 1024);
}

/* ---- waiting ---- */

static void sleep_while(int32_t *word, int32_t value, int64_t ns) {
#ifdef __linux__
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
#else
    struct timespec t = {0, ns < 100000 ? ns : 100000};
    nanosleep(&t, NULL);
#endif
}

static void wake(int32_t *word) {
#ifdef __linux__
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
#endif
}

void gb_gu_run_notice(gb_gu_run *job) {
    if (!busy(job) && __atomic_exchange_n(&job->sleeping, 0, __ATOMIC_SEQ_CST))
        wake(&job->sleeping);
}

/* A stopped job has next at n and counts what was never taken as done. */
void gb_gu_run_stop(gb_gu_run *job) {
    __atomic_store_n(&job->stop, 1, __ATOMIC_RELAXED);
    int64_t next = __atomic_exchange_n(&job->next, job->n, __ATOMIC_SEQ_CST);
    if (next < job->n) __atomic_fetch_add(&job->done, job->n - next, __ATOMIC_SEQ_CST);
}

int gb_gu_run_wait(gb_gu_run *job, int64_t deadline) {
    for (int spins = 0; busy(job); spins++) {
        if (spins < 200) {
            sched_yield();
            continue;
        }
        int64_t rest = deadline ? deadline - gb_nanoseconds() : 50000000;
        if (rest <= 0) return 1;
        __atomic_store_n(&job->sleeping, 1, __ATOMIC_SEQ_CST);
        if (busy(job)) sleep_while(&job->sleeping, 1, rest);
    }
    return 0;
}
