/* job.c: one run of a call, and a worker's share of it. */
#include "call.h"
#include "fpstate.h"

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

/* Pieces that others had taken are begun again, and with them everything, for nobody
 * knows which they were; inputs that have been written over since are gone. */
__attribute__((cold)) int gb_gu_run_alone(gb_gu_run *job) {
    job->attached = 0;
    job->holders = 1;
    job->helpers.awaited = 0;
    if (job->done == job->next) return 0;
    if (job->in_place) return -1;
    free(job->codes);
    job->codes = NULL;
    job->next = job->done = job->nfailed = 0;
    job->nselected = job->call->flags & GB_GU_WHERE ? 0 : job->n;
    return 0;
}

/* Set by the extension: makes the calling thread one that Python knows, and ends that. */
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
        gb_gu_run_finished(job, &p, 0);
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
        now = gb_gu_run_finished(job, &p, began);
        if (deadline && (now >= deadline || now - began > GB_GU_LONG_SLICE)) {
            more = __atomic_load_n(&job->next, __ATOMIC_SEQ_CST) < job->n;
            break;
        }
        began = now;
    } while ((more = gb_gu_run_take(job, &p)));
    leave(&w);
    return more;
}

/* Without a piece in hand the call may be gone: nothing but the job is touched then. */
int gb_gu_run_work(gb_gu_run *job, int64_t now, int64_t deadline) {
    gb_gu_piece p;
    return gb_gu_run_take(job, &p) ? pieces(job, p, now, deadline) : 0;
}

/* All pieces that are left, on a helper's thread. */
static void take_pieces(gb_gu_run *job) {
    gb_gu_piece p;
    if (!gb_gu_run_take(job, &p)) return;
    int64_t now = job->measured ? gb_nanoseconds() : 0;
    if (!(job->call->flags & GB_GU_RAISES) || !gb_gu_attach) {
        pieces(job, p, now, 0);
        return;
    }
    /* Counted before the piece is finished: nobody believes the job done before this thread has
     * handed over its error. */
    __atomic_add_fetch(&job->attached, 1, __ATOMIC_SEQ_CST);
    void *thread = gb_gu_attach();
    pieces(job, p, now, 0);
    gb_gu_detach(job, thread);
    __atomic_sub_fetch(&job->attached, 1, __ATOMIC_SEQ_CST);
    gb_gu_run_notice(job);
}

static void help(void *job) {
    take_pieces(job);
    gb_gu_run_drop(job);
}

gb_gu_run *gb_gu_run_new(const gb_gu_call *call, char *const *data, void *uniforms,
                         int ignore_errors, gb_error *e) {
    gb_gu_run *job = malloc(sizeof *job);
    if (!job) return gb_refuse(e, GB_MEMORY_ERROR, "no memory left for a call"), NULL;
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
    int alone = workers > 1;
    for (int more = 1; more;) {
        int64_t now = gb_nanoseconds();
        more = gb_gu_run_work(job, now, alone ? now + GB_GU_GLANCE : 0);
        if (more && alone && gb_gu_run_share(job, workers)) alone = 0;
    }
    while (gb_gu_run_wait(job, 0)) {}
}
