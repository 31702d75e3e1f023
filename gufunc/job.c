/* job.c: one run of a call: workers take chunks from a counter until none is left. */
#include "call.h"
#include "fpstate.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

gb_call *gb_call_new(int nop) { return calloc(1, sizeof(gb_call) + (size_t)nop * sizeof(gb_operand)); }

void gb_call_free(gb_call *call) {
    if (!call) return;
    for (int i = 0; i < GB_MAXARGS; i++) free(call->out[i]);
    free(call);
}

int64_t gb_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int gb_sweep_init(gb_sweep *job, const gb_call *call, char *const *data, void *uniforms, int ignore_errors, const char **why) {
    memset(job, 0, sizeof *job);
    job->call = call;
    job->nchunks = call->nchunks;
    job->holders = 1;
    job->ignore_errors = ignore_errors;
    job->loop_data = uniforms ? uniforms : call->data;
    memcpy(job->data, data, (size_t)(call->nop + (call->flags & GB_WHERE ? 1 : 0)) * sizeof *data);
    for (int i = 0; i < call->nop; i++) job->staged |= (uint32_t)call->op[i].staged << i;
    if (!(call->flags & GB_WHERE)) job->nselected = call->n;
    if (call->n == 0 || gb_protect_inputs(job, why) == 0) return 0;
    gb_sweep_clear(job);
    return -1;
}

void gb_sweep_clear(gb_sweep *job) {
    for (int i = 0; i <= GB_MAXARGS; i++)
        if (job->shadow[i].block) gb_release(job->shadow[i].block);
    free(job->codes);
}

gb_sweep *gb_sweep_new(const gb_call *call, char *const *data, void *uniforms, int ignore_errors, const char **why) {
    gb_sweep *job = malloc(sizeof *job);
    if (!job) return *why = "memory", NULL;
    if (gb_sweep_init(job, call, data, uniforms, ignore_errors, why) == 0) return job;
    free(job);
    return NULL;
}

void gb_sweep_hold(gb_sweep *job) { __atomic_fetch_add(&job->holders, 1, __ATOMIC_RELAXED); }

void gb_sweep_drop(gb_sweep *job) {
    if (__atomic_sub_fetch(&job->holders, 1, __ATOMIC_ACQ_REL)) return;
    gb_sweep_clear(job);
    free(job);
}

/* ---- waiting for the last chunks ---- */

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

static int64_t taken(const gb_sweep *job) {
    int64_t next = __atomic_load_n(&job->next, __ATOMIC_SEQ_CST);
    return next < job->nchunks ? next : job->nchunks;
}

/* A stopped job has next at nchunks and counts what was never taken as done. */
void gb_sweep_stop(gb_sweep *job) {
    int64_t all = job->nchunks;
    __atomic_store_n(&job->stop, 1, __ATOMIC_RELAXED);
    int64_t next = __atomic_exchange_n(&job->next, all, __ATOMIC_SEQ_CST);
    if (next < all) __atomic_fetch_add(&job->done, all - next, __ATOMIC_SEQ_CST);
}

int gb_sweep_wait(gb_sweep *job, int64_t deadline) {
    for (int spins = 0; __atomic_load_n(&job->done, __ATOMIC_ACQUIRE) < taken(job); spins++) {
        if (spins < 200) {
            sched_yield();
            continue;
        }
        int64_t rest = deadline ? deadline - gb_now() : 50000000;
        if (rest <= 0) return 1;
        __atomic_store_n(&job->sleeping, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&job->done, __ATOMIC_SEQ_CST) < taken(job)) sleep_while(&job->sleeping, 1, rest);
    }
    return 0;
}

int64_t gb_sweep_take(gb_sweep *job) {
    int64_t chunk = __atomic_fetch_add(&job->next, 1, __ATOMIC_SEQ_CST);
    return chunk < job->nchunks ? chunk : -1;
}

void gb_sweep_finished(gb_sweep *job) {
    int64_t done = __atomic_add_fetch(&job->done, 1, __ATOMIC_SEQ_CST);
    if (done >= taken(job) && __atomic_exchange_n(&job->sleeping, 0, __ATOMIC_SEQ_CST)) wake(&job->sleeping);
}

/* One worker's room and floating-point environment. */
typedef struct worker {
    gb_block block;
    char *scratch;
    gb_fp saved;
    fenv_t x87;
    int with_x87;
    _Alignas(64) char small[1024];
} worker;

static int enter(worker *w, gb_sweep *job) {
    const gb_call *call = job->call;
    int needs_room = job->staged || call->flags & GB_WHERE || call->form != GB_NUMPY_LOOP;
    w->scratch = w->small;
    if (needs_room && call->scratch > (int64_t)sizeof w->small && !(w->scratch = aligned_alloc(64, (size_t)call->scratch))) return -1;
    w->with_x87 = call->flags & GB_X87;
    if (w->with_x87) {
        fegetenv(&w->x87);
        gb_x87_clear();
    }
    gb_fp_enter(&w->saved);
    gb_block_start(&w->block, job, w->scratch);
    return 0;
}

static void leave(worker *w) {
    gb_fp_leave(&w->saved);
    if (w->with_x87) fesetenv(&w->x87);
    if (w->scratch != w->small) free(w->scratch);
}

/* Without a chunk in hand the call may be gone: nothing but the job is touched then. */
int gb_sweep_work(gb_sweep *job, int64_t limit, int64_t deadline) {
    worker w;
    int64_t chunk = gb_sweep_take(job);
    if (chunk < 0) return 0;
    if (enter(&w, job) < 0) {
        __atomic_store_n(&job->no_memory, 1, __ATOMIC_RELAXED);
        gb_sweep_stop(job);
        gb_sweep_finished(job);
        return 0;
    }
    for (int64_t left = limit; chunk >= 0; chunk = gb_sweep_take(job)) {
        gb_block_chunk(&w.block, chunk);
        while (gb_block_next(&w.block)) {
            gb_block_call(&w.block);
            gb_block_done(&w.block);
        }
        gb_sweep_finished(job);
        if (--left == 0 || (deadline && gb_now() >= deadline)) break;
    }
    leave(&w);
    return chunk >= 0;
}
