/* reduce.c: the tasks of a reduction: a range of outputs and a block each, their results, and the
 * failed outputs. */
#include "cast.h"
#include "reduction.h"
#include "fpstate.h"

gb_gu_reduction *gb_gu_reduction_new(int nout) {
    return calloc(1, sizeof(gb_gu_reduction) + (size_t)nout * sizeof(gb_gu_operand));
}

void gb_gu_reduction_free(gb_gu_reduction *r) {
    if (!r) return;
    for (int i = 0; i < GB_GU_MAXARGS; i++) free(r->plan[i]);
    free((void *)r->state.init);
    gb_gu_call_free(r->call);
    free(r);
}

/* The memory of output k, and how many follow it in the innermost kept loop. */
static int64_t locate(const gb_gu_reducing *run, int64_t k, const char **in, const char **where,
                      char **out) {
    const gb_gu_reduction *r = run->r;
    int64_t left = 1;
    *in = run->in;
    *where = run->where;
    for (int o = 0; o < r->nout; o++) out[o] = run->out[o];
    for (int d = r->nkept - 1; d >= 0; d--) {
        int64_t i = d ? k % r->kept_shape[d] : k;
        if (d == r->nkept - 1) left = r->kept_shape[d] - i;
        k /= r->kept_shape[d];
        *in += i * r->in.strides[d];
        if (run->where) *where += i * r->kept_where[d];
        for (int o = 0; o < r->nout; o++) out[o] += i * r->out[o].strides[d];
    }
    return left;
}

/* ---- failures ---- */

static void record(gb_gu_reducing *run, int64_t k, int code) {
    uint8_t *codes = code && !run->ignore_errors
                         ? gb_gu_codes(&run->codes, run->r->kept_n, &run->no_memory)
                         : NULL;
    if (codes) __atomic_fetch_or(&codes[k], (uint8_t)code, __ATOMIC_RELAXED);
}

int64_t gb_gu_reduce_failed(const gb_gu_reducing *run) {
    int64_t n = 0;
    for (int64_t k = 0; run->codes && k < run->r->kept_n; k++) n += run->codes[k] != 0;
    return n;
}

/* ---- results ---- */

/* Writes n results into their memory; of states, their final values. */
static void emit(gb_gu_folder *w, const char *acc, char **out, int64_t n) {
    const gb_gu_reduction *r = w->r;
    if (!(r->flags & GB_GU_R_STATE)) {
        gb_gu_unpack(out[0], r->nkept ? r->out[0].strides[r->nkept - 1] : 0, &r->out[0], acc, n);
        return;
    }
    _Alignas(32) char values[GB_GU_MAXARGS][GB_GU_MAX_ITEM];
    char *outs[GB_GU_MAXARGS];
    for (int64_t i = 0; i < n; i++) {
        for (int o = 0; o < r->nout; o++) outs[o] = values[o];
        if (r->state.final(acc + i * r->item, outs, r->state.data)) {
            w->bad[i] = GB_GU_STATUS;
            w->any_bad = GB_GU_STATUS;
        }
        for (int o = 0; o < r->nout; o++)
            gb_gu_unpack(out[o] + (r->nkept ? i * r->out[o].strides[r->nkept - 1] : 0), 0,
                         &r->out[o], values[o], 1);
    }
}

/* Outputs [k, k + n), a stretch of the innermost kept loop. */
typedef struct stretch {
    int64_t k, n, from, to, block;
    int joins; /* the parts are joined, not made */
} stretch;

static char *part_of(const gb_gu_reducing *run, int64_t block, int64_t k) {
    return run->parts + (block * run->r->kept_n + k) * run->r->item;
}

static char *join(gb_gu_folder *w, int64_t k, int64_t n) {
    const gb_gu_reduction *r = w->r;
    memcpy(w->acc[0], part_of(w->run, 0, k), (size_t)(n * r->item));
    w->count[0] = 1;
    for (int64_t b = 1; b < r->blocks; b++) {
        const char *part = part_of(w->run, b, k);
        if (r->flags & GB_GU_R_STATE)
            for (int64_t i = 0; i < n; i++)
                r->state.merge(w->acc[0] + i * r->item, part + i * r->item, r->state.data);
        else gb_gu_combine(w, &w->acc[0], part, r->item, n);
    }
    return w->acc[0];
}

/* out NULL: only the flags are wanted. */
static void work(gb_gu_folder *w, const stretch *s, const char *in, const char *where, char **out) {
    const gb_gu_reduction *r = w->r;
    if (w->any_bad) memset(w->bad, 0, (size_t)s->n);
    w->any_bad = 0;
    char *acc;
    if (s->joins) acc = join(w, s->k, s->n);
    else if (r->flags & GB_GU_R_STATE) acc = gb_gu_fold_states(w, in, s->n, s->from, s->to);
    else acc = gb_gu_fold(w, in, where, s->n, s->from, s->to, s->block == 0);
    _Alignas(32) char nowhere[GB_GU_MAXARGS][GB_GU_MAX_ITEM];
    char *nowheres[GB_GU_MAXARGS];
    for (int o = 0; o < r->nout; o++) nowheres[o] = nowhere[o];
    if (s->joins || r->blocks == 1) emit(w, acc, out ? out : nowheres, s->n);
    else if (out) memcpy(part_of(w->run, s->block, s->k), acc, (size_t)(s->n * r->item));
}

/* A flag was raised in a stretch of several outputs: folds each again alone. */
static void each(gb_gu_folder *w, const stretch *s, const char *in, const char *where) {
    const gb_gu_reduction *r = w->r;
    for (int64_t i = 0; i < s->n; i++) {
        stretch one = *s;
        one.k += i;
        one.n = 1;
        gb_gu_fp_clear();
        work(w, &one, in + i * r->in.strides[r->nkept - 1],
             where ? where + i * r->kept_where[r->nkept - 1] : NULL, NULL);
        record(w->run, one.k, gb_gu_raised(r->call) | w->bad[0]);
    }
    gb_gu_fp_clear();
}

static void stretches(gb_gu_folder *w, int64_t k, int64_t end, stretch s) {
    const gb_gu_reduction *r = w->r;
    char *out[GB_GU_MAXARGS];
    const char *in, *where;
    for (; k < end && !__atomic_load_n(&w->run->stopped, __ATOMIC_RELAXED); k += s.n) {
        s.n = locate(w->run, k, &in, &where, out);
        if (s.n > end - k) s.n = end - k;
        if (s.n > r->width) s.n = r->width;
        s.k = k;
        work(w, &s, in, where, out);
        int raised = gb_gu_raised(r->call);
        if (raised && s.n > 1 && !w->run->ignore_errors) {
            for (int64_t i = 0; w->any_bad && i < s.n; i++) record(w->run, k + i, w->bad[i]);
            each(w, &s, in, where);
            continue;
        }
        for (int64_t i = 0; (raised || w->any_bad) && i < s.n; i++)
            if (raised | w->bad[i]) record(w->run, k + i, raised | w->bad[i]);
        if (raised) gb_gu_fp_clear();
    }
}

static void task(gb_gu_folder *w, int64_t number) {
    const gb_gu_reduction *r = w->r;
    stretch s = {.block = number % r->blocks};
    int64_t k = number / r->blocks * r->tile;
    s.from = s.block * r->block;
    s.to = s.from + r->block < r->fold_n ? s.from + r->block : r->fold_n;
    stretches(w, k, k + r->tile < r->kept_n ? k + r->tile : r->kept_n, s);
}

/* ---- a run ---- */

/* Scratch memory of a worker, on the stack where it fits. */
#define WITH_FOLDER(run, w)                                           \
    _Alignas(64) char small_[6144];                                   \
    char *room_ = (run)->r->scratch <= (int64_t)sizeof small_         \
                      ? small_                                        \
                      : aligned_alloc(64, (size_t)(run)->r->scratch); \
    gb_gu_folder w;                                                   \
    if (!room_ || gb_gu_folder_init(&w, run, room_) < 0)              \
        __atomic_store_n(&(run)->no_memory, 1, __ATOMIC_RELAXED);     \
    else
#define END_FOLDER \
    if (room_ != small_) free(room_);

intptr_t gb_gu_reduce_tasks(char **args, intptr_t const *dims, intptr_t const *steps, void *data,
                            uint8_t *status) {
    gb_gu_reducing *run = data;
    WITH_FOLDER(run, w)
    for (intptr_t e = 0; e < dims[0]; e++) task(&w, (int64_t)((intptr_t)args[0] + e * steps[0]));
    END_FOLDER
    return 0;
}

int gb_gu_reduce_begin(gb_gu_reducing *run) {
    const gb_gu_reduction *r = run->r;
    run->codes = NULL;
    run->parts = NULL;
    run->no_memory = 0;
    run->stopped = 0;
    run->owner = pthread_self();
    run->job = NULL;
    if (r->blocks > 1 &&
        !(run->parts = aligned_alloc(64, (size_t)((r->blocks * r->kept_n * r->item + 63) & ~63ll))))
        return -1;
    return 0;
}

void gb_gu_reduce_here(gb_gu_reducing *run) {
    const gb_gu_reduction *r = run->r;
    gb_gu_fp saved;
    gb_gu_fp_enter(&saved);
    WITH_FOLDER(run, w)
    for (int64_t i = 0; i < r->tiles * r->blocks; i++) task(&w, i);
    END_FOLDER
    gb_gu_fp_leave(&saved);
}

void gb_gu_reduce_stop(gb_gu_reducing *run) {
    __atomic_store_n(&run->stopped, 1, __ATOMIC_RELAXED);
}

void gb_gu_reduce_end(gb_gu_reducing *run) {
    const gb_gu_reduction *r = run->r;
    if (r->blocks > 1 && !run->stopped && !run->no_memory) {
        gb_gu_fp saved;
        gb_gu_fp_enter(&saved);
        WITH_FOLDER(run, w) stretches(&w, 0, r->kept_n, (stretch){.joins = 1});
        END_FOLDER
        gb_gu_fp_leave(&saved);
    }
    free(run->parts);
    run->parts = NULL;
}
