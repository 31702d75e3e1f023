/* job.c: one run of a call: its pieces, its workers, waiting for the last of them. */
#include "call.h"
#include "fpstate.h"

#include <sched.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* ---- pieces ----
 *
 * Workers take pieces from one counter. A kernel whose elements take a bounded time is cut into
 * chunks of a fixed number of bytes. Any other kernel is measured: pieces begin with one element,
 * and have at most FEW elements, or one part in CAUTION of those that were quick before; a piece
 * that took longer than LONG makes the following ones shorter. So a piece takes little more than
 * LONG or than its slowest element, and where elements turn slow after n quick ones, one worker
 * holds at most FEW or n / CAUTION of them.
 *
 * While no element is slow, the cuts depend on the number of elements alone; from GRAIN elements on
 * they are at multiples of it, so that vector loops of a kernel see the same elements on every
 * thread. */

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

/* Without helpers no other thread touches the counters. */
static int alone(const gb_gu_run *job) {
    return __atomic_load_n(&job->holders, __ATOMIC_ACQUIRE) == 1;
}

/* 0: none is left, else finish_piece follows. */
static int take_piece(gb_gu_run *job, gb_gu_piece *p) {
    if (alone(job)) {
        p->at = job->next;
        if (p->at >= job->n) return 0;
        p->end = cut(job, p->at);
        job->next = p->end;
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

/* Updates the pace, which later cuts use, by the time that a piece took. */
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

static void wake(int32_t *word) {
#ifdef __linux__
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
#endif
}

/* Wakes the waiting thread when all is done. */
static void notice(gb_gu_run *job) {
    if (!busy(job) && __atomic_exchange_n(&job->sleeping, 0, __ATOMIC_SEQ_CST))
        wake(&job->sleeping);
}

/* began: the time when the piece was begun, or 0 without one; returns the time now. */
static int64_t finish_piece(gb_gu_run *job, const gb_gu_piece *p, int64_t began) {
    int64_t now = 0;
    if (began) {
        now = gb_nanoseconds();
        learn(job, p, began, now);
    }
    if (alone(job)) {
        job->done += p->end - p->at;
        return now;
    }
    __atomic_add_fetch(&job->done, p->end - p->at, __ATOMIC_SEQ_CST);
    notice(job);
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

/* A stopped job has next at n, and counts elements that were never taken as done. */
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

/* ---- calls and runs ---- */

gb_gu_call *gb_gu_call_new(int nop) {
    return calloc(1, sizeof(gb_gu_call) + (size_t)nop * sizeof(gb_gu_operand));
}

void gb_gu_call_free(gb_gu_call *call) {
    if (!call) return;
    for (int i = 0; i < GB_GU_MAXARGS; i++) free(call->out[i]);
    free(call);
}

int gb_gu_run_init(gb_gu_run *job, const gb_gu_call *call, char *const *data, void *uniforms,
                   int ignore_errors, gb_error *e) {
    memset(job, 0, offsetof(gb_gu_run, data));
    job->call = call;
    job->n = call->n;
    job->chunk = call->chunk;
    job->measured = (call->flags & GB_GU_MEASURED) != 0;
    job->holders = 1;
    job->ignore_errors = ignore_errors;
    job->loop_data = uniforms ? uniforms : call->data;
    memcpy(job->data, data,
           (size_t)(call->nop + (call->flags & GB_GU_WHERE ? 1 : 0)) * sizeof *data);
    for (int i = 0; i < call->nop; i++) job->staged |= (uint32_t)call->op[i].staged << i;
    if (!(call->flags & GB_GU_WHERE)) job->nselected = call->n;
    if (call->n == 0 || gb_gu_protect_inputs(job, e) == 0) return 0;
    gb_gu_run_clear(job);
    return -1;
}

void gb_gu_run_clear(gb_gu_run *job) {
    for (uint32_t left = job->copies; left; left &= left - 1) {
        void *block = job->copied[__builtin_ctz(left)].block;
        if (block) gb_heap_release(block);
    }
    free(job->codes);
}

void gb_gu_run_hold(gb_gu_run *job) { __atomic_fetch_add(&job->holders, 1, __ATOMIC_RELAXED); }

void gb_gu_run_drop(gb_gu_run *job) {
    if (__atomic_sub_fetch(&job->holders, 1, __ATOMIC_ACQ_REL)) return;
    gb_gu_run_clear(job);
    free(job);
}

/* Begins the whole job again: the pieces that other threads had taken are not known. Impossible
 * where outputs overwrite inputs. */
__attribute__((cold)) int gb_gu_run_alone(gb_gu_run *job) {
    job->attached = 0;
    job->holders = 1;
    job->helpers.awaited = 0;
    if (job->done == job->next) return 0;
    if (job->in_place) return -1;
    free(job->codes);
    job->codes = NULL;
    job->next = 0;
    job->done = 0;
    job->nfailed = 0;
    job->nselected = job->call->flags & GB_GU_WHERE ? 0 : job->n;
    return 0;
}

/* ---- workers ---- */

void *(*gb_gu_attach)(void);
void (*gb_gu_detach)(gb_gu_run *job, void *thread);

/* One worker's room and floating-point environment. */
typedef struct worker {
    gb_gu_block block;
    char *scratch;
    gb_gu_fp saved;
    _Alignas(64) char small[1024];
} worker;

static int enter(worker *w, gb_gu_run *job) {
    const gb_gu_call *call = job->call;
    int needs_room = job->staged || call->flags & GB_GU_WHERE || call->form != GB_GU_NUMPY_LOOP;
    w->scratch = w->small;
    if (needs_room && call->scratch > (int64_t)sizeof w->small &&
        !(w->scratch = aligned_alloc(64, (size_t)call->scratch)))
        return -1;
    gb_gu_fp_enter(&w->saved);
    gb_gu_block_start(&w->block, job, w->scratch);
    return 0;
}

static void leave(worker *w) {
    gb_gu_fp_leave(&w->saved);
    if (w->scratch != w->small) free(w->scratch);
}

/* The pieces from p on. */
static int pieces(gb_gu_run *job, gb_gu_piece p, int64_t now, int64_t deadline) {
    worker w;
    if (enter(&w, job) < 0) {
        __atomic_store_n(&job->no_memory, 1, __ATOMIC_RELAXED);
        gb_gu_run_stop(job);
        finish_piece(job, &p, 0);
        return 0;
    }
    int64_t began = now;
    int more;
    do {
        gb_gu_block_piece(&w.block, &p);
        while (gb_gu_block_next(&w.block)) {
            gb_gu_block_call(&w.block);
            gb_gu_block_done(&w.block);
        }
        now = finish_piece(job, &p, began);
        if (deadline && (now >= deadline || now - began > GB_GU_LONG_SLICE)) {
            more = __atomic_load_n(&job->next, __ATOMIC_SEQ_CST) < job->n;
            break;
        }
        began = now;
    } while ((more = take_piece(job, &p)));
    leave(&w);
    return more;
}

/* Without a piece in hand the call may be gone: nothing but the job is touched then. */
int gb_gu_run_work(gb_gu_run *job, int64_t now, int64_t deadline) {
    gb_gu_piece p;
    return take_piece(job, &p) ? pieces(job, p, now, deadline) : 0;
}

/* All pieces that are left, on a helper's thread. */
static void take_pieces(gb_gu_run *job) {
    gb_gu_piece p;
    if (!take_piece(job, &p)) return;
    int64_t now = job->measured ? gb_nanoseconds() : 0;
    if (!(job->call->flags & GB_GU_RAISES) || !gb_gu_attach) {
        pieces(job, p, now, 0);
        return;
    }
    /* Counted before the piece is finished: the job is not done before this thread has stored its
     * error. */
    __atomic_add_fetch(&job->attached, 1, __ATOMIC_SEQ_CST);
    void *thread = gb_gu_attach();
    pieces(job, p, now, 0);
    gb_gu_detach(job, thread);
    __atomic_sub_fetch(&job->attached, 1, __ATOMIC_SEQ_CST);
    notice(job);
}

static void help(void *job) {
    take_pieces(job);
    gb_gu_run_drop(job);
}

gb_gu_run *gb_gu_run_new(const gb_gu_call *call, char *const *data, void *uniforms,
                         int ignore_errors, gb_error *e) {
    gb_gu_run *job = malloc(sizeof *job);
    if (!job) {
        gb_refuse(e, GB_MEMORY_ERROR, "no memory left for a call");
        return NULL;
    }
    if (gb_gu_run_init(job, call, data, uniforms, ignore_errors, e) < 0) {
        free(job);
        return NULL;
    }
    job->helpers = (gb_work_loan){.run = help, .of = job};
    return job;
}

int gb_gu_run_lend(gb_gu_run *job, int n, int most) {
    for (int i = 0; i < n; i++) gb_gu_run_hold(job); /* before the first helper can drop it */
    int lent = gb_work_lend(&job->helpers, n, most);
    for (int i = lent; i < n; i++) gb_gu_run_drop(job);
    return lent;
}

#define FAN_OUT 100000ll /* ns of work that must be left to wake other threads */

int gb_gu_run_share(gb_gu_run *job, int workers) {
    int64_t left = gb_gu_run_left(job), helpers = left / GB_GU_GLANCE;
    if (left <= FAN_OUT || workers <= 1 || job->call->flags & GB_GU_ONE_WORKER) return 0;
    return gb_gu_run_lend(job, helpers < workers - 1 ? (int)helpers : workers - 1, workers - 1);
}

void gb_gu_run_all(gb_gu_run *job, int workers) {
    int alone = workers != 1;
    for (int more = 1; more;) {
        int64_t now = gb_nanoseconds();
        more = gb_gu_run_work(job, now, alone ? now + GB_GU_GLANCE : 0);
        if (!more || !alone) continue;
        if (workers == 0) workers = gb_work_thread_count();
        alone = workers > 1 && !gb_gu_run_share(job, workers);
    }
    while (gb_gu_run_wait(job, 0)) {}
}

/* ---- loops around a function of one element; data is the function ---- */

#define AT(type, i) (*(const type *)(args[i] + e * steps[i]))
#define LOOP(name, type, n, params, values)                                                  \
    static void name(char **args, intptr_t const *dims, intptr_t const *steps, void *data) { \
        type(*f) params = (type(*) params)data;                                              \
        for (intptr_t e = 0; e < dims[0]; e++) *(type *)(args[n] + e * steps[n]) = f values; \
    }
#define LOOPS(suffix, type)                                                                    \
    LOOP(one_##suffix, type, 1, (type), (AT(type, 0)))                                         \
    LOOP(two_##suffix, type, 2, (type, type), (AT(type, 0), AT(type, 1)))                      \
    LOOP(three_##suffix, type, 3, (type, type, type), (AT(type, 0), AT(type, 1), AT(type, 2))) \
    LOOP(four_##suffix, type, 4, (type, type, type, type),                                     \
         (AT(type, 0), AT(type, 1), AT(type, 2), AT(type, 3)))
LOOPS(f64, double)
LOOPS(f32, float)

gb_gu_numpy_loop gb_gu_scalar_loop(int inputs, int single) {
    static const gb_gu_numpy_loop loops[2][4] = {{one_f64, two_f64, three_f64, four_f64},
                                                 {one_f32, two_f32, three_f32, four_f32}};
    return inputs >= 1 && inputs <= 4 ? loops[single != 0][inputs - 1] : NULL;
}
