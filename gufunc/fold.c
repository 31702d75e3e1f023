/* fold.c: folding elements into accumulators, by two-input loops and by functions with a state. */
#include "reduction.h"
#include "cast.h"
#include "fpstate.h"

/* ---- a worker: scratch memory, stopping, position in the folded loops ---- */

#define LOOK 1000000 /* elements between checks whether to stop */

int gb_gu_folder_init(gb_gu_folder *w, gb_gu_reducing *run, char *room) {
    const gb_gu_reduction *r = run->r;
    /* Scratch memory is sized for elements of at most GB_GU_MAX_ITEM bytes. */
    if (r->item < 1 || (!(r->flags & GB_GU_R_STATE) && r->item > GB_GU_MAX_ITEM)) return -1;
    w->run = run;
    w->r = r;
    for (int l = 0; l < r->levels; l++) w->acc[l] = room + l * r->width * r->item;
    for (int l = r->levels; l < GB_GU_R_LEVELS; l++) w->acc[l] = NULL;
    w->spare = room + r->levels * r->width * r->item;
    w->stage = room + r->stage_at;
    w->raw = room + r->raw_at;
    w->lanes[0] = room + r->lanes_at;
    w->lanes[1] = w->lanes[0] + r->lanes * r->item;
    w->status = (uint8_t *)room + r->status_at;
    w->bad = w->status + (r->width > r->lanes ? r->width : r->lanes);
    memset(w->count, 0, sizeof w->count);
    memset(w->bad, 0, (size_t)r->width);
    w->any_bad = 0;
    w->since = 0;
    w->ns = 0;
    return 0;
}

/* n more elements are done. */
static int is_stopped(gb_gu_folder *w, int64_t n) {
    if (n < LOOK && (w->since += n) < LOOK) return 0;
    w->since = 0;
    gb_gu_reducing *run = w->run;
    if (__atomic_load_n(&run->stopped, __ATOMIC_RELAXED) ||
        (run->job && __atomic_load_n(&run->job->stop, __ATOMIC_RELAXED)))
        return 1;
    if (!run->poll || !pthread_equal(run->owner, pthread_self()) || !run->poll(run->with)) return 0;
    __atomic_store_n(&run->stopped, 1, __ATOMIC_RELAXED);
    return 1;
}

/* A place in nested loops. */
typedef struct {
    int64_t index[GB_MAXDIMS];
    const char *in, *where;
} walk;

static void walk_to(const gb_gu_reduction *r, walk *at, const char *in, const char *where,
                    int64_t linear) {
    for (int d = r->nfold - 1; d >= 0; d--) {
        int64_t i = d ? linear % r->fold_shape[d] : linear;
        linear /= r->fold_shape[d];
        at->index[d] = i;
        in += i * r->fold_in[d];
        if (where) where += i * r->fold_where[d];
    }
    at->in = in;
    at->where = where;
}

/* n: at most to the end of the innermost loop. */
static void walk_on(const gb_gu_reduction *r, walk *at, int64_t n) {
    int d = r->nfold - 1;
    at->index[d] += n;
    at->in += n * r->fold_in[d];
    if (at->where) at->where += n * r->fold_where[d];
    for (; d > 0 && at->index[d] == r->fold_shape[d]; d--) {
        at->index[d] = 0;
        at->index[d - 1]++;
        at->in += r->fold_in[d - 1] - r->fold_shape[d] * r->fold_in[d];
        if (at->where) at->where += r->fold_where[d - 1] - r->fold_shape[d] * r->fold_where[d];
    }
}

/* ---- folding with a state, in the order of the indices ---- */

static char *state_of(gb_gu_folder *w, int64_t i) { return w->acc[0] + i * w->r->item; }

static void step_state(gb_gu_folder *w, int64_t i, int64_t first, int64_t n, const char *x,
                       intptr_t x_step) {
    char *args[1] = {(char *)x};
    w->r->state.step(state_of(w, i), first, n, args, &x_step, w->r->state.data);
}

/* Neighbouring outputs: some rows are transposed, so that each output's elements are contiguous. */
static void states_across(gb_gu_folder *w, walk *at, int64_t n, int64_t from, int64_t to) {
    const gb_gu_reduction *r = w->r;
    int d = r->nfold - 1;
    int64_t rows = r->piece, item = r->in.kernel_item, column = GB_GU_R_COLUMN(rows * item);
    intptr_t beside = r->nkept ? r->in.strides[r->nkept - 1] : 0;
    for (int64_t f = from, run; f < to; f += run) {
        run = r->fold_shape[d] - at->index[d] < to - f ? r->fold_shape[d] - at->index[d] : to - f;
        if (run > rows) run = rows;
        for (int64_t i = 0; i < run; i++) {
            const char *x = at->in + i * r->fold_in[d];
            if (r->in.swapped)
                for (int64_t c = 0; c < n; c++)
                    gb_gu_pack(w->stage + c * column + i * item, &r->in, x + c * beside, beside, 1);
            else gb_gu_cast(r->in.to, w->stage + i * item, column, r->in.from, x, beside, n);
        }
        for (int64_t c = 0; c < n; c++) step_state(w, c, f, run, w->stage + c * column, item);
        if (is_stopped(w, run * n)) return;
        if (f + run < to) walk_on(r, at, run);
    }
}

static void states_along(gb_gu_folder *w, walk *at, int64_t from, int64_t to) {
    const gb_gu_reduction *r = w->r;
    int d = r->nfold - 1;
    int64_t filled = 0, item = r->in.kernel_item;
    for (int64_t f = from, run; f < to; f += run) {
        run = r->fold_shape[d] - at->index[d] < to - f ? r->fold_shape[d] - at->index[d] : to - f;
        if (run > r->piece - filled) run = r->piece - filled;
        if (r->flags & GB_GU_R_STAGED) {
            gb_gu_pack(w->stage + filled * item, &r->in, at->in, r->fold_in[d], run);
            filled += run;
            if (filled == r->piece || f + run == to) {
                step_state(w, 0, f + run - filled, filled, w->stage, item);
                filled = 0;
            }
        } else {
            step_state(w, 0, f, run, at->in, r->fold_in[d]);
        }
        if (is_stopped(w, run)) return;
        if (f + run < to) walk_on(r, at, run);
    }
}

char *gb_gu_fold_states(gb_gu_folder *w, const char *in, int64_t n, int64_t from, int64_t to) {
    const gb_gu_reduction *r = w->r;
    walk at;
    for (int64_t i = 0; i < n; i++) memcpy(state_of(w, i), r->state.init, (size_t)r->state.size);
    if (from == to) return w->acc[0];
    walk_to(r, &at, in, NULL, from);
    if (r->flags & GB_GU_R_ACROSS) states_across(w, &at, n, from, to);
    else states_along(w, &at, from, to);
    return w->acc[0];
}

/* ---- folding with a two-input loop ----
 *
 * A row along memory is folded by the loop itself where the loop is NumPy's own (its output is also
 * its first input, as in NumPy's reductions), else in lanes, which are then folded in halves.
 * Neighbouring outputs are folded side by side. A full accumulator goes into that of the next
 * level.
 *
 * The order depends on the shape and the strides alone, never on the number of outputs of a run:
 * those of a failed run are folded again one by one. */

#define SLOW_CALL 10e6 /* ns: calls of a slow kernel are cut so that they take about this long */

static void swap(char **a, char **b) {
    char *t = *a;
    *a = *b;
    *b = t;
}

static void fail(gb_gu_folder *w, int64_t output) {
    w->bad[output] = GB_GU_STATUS;
    w->any_bad = GB_GU_STATUS;
}

enum { ONE_OUTPUT = -1 };

/* out = f(a, b), n times; a foreign kernel in calls of bounded time. The elements belong to the
 * outputs from `first` on, or all to one. */
static void call(gb_gu_folder *w, const char *a, intptr_t a_step, const char *b, intptr_t b_step,
                 char *out, intptr_t out_step, int64_t n, int64_t first) {
    const gb_gu_reduction *r = w->r;
    intptr_t steps[3] = {a_step, b_step, out_step};
    for (int64_t at = 0, k; at < n; at += k) {
        k = n - at;
        if (!(r->flags & GB_GU_R_IN_PLACE) && w->ns * (double)k > SLOW_CALL)
            k = w->ns < SLOW_CALL ? (int64_t)(SLOW_CALL / w->ns) : 1;
        char *args[3] = {(char *)a + at * a_step, (char *)b + at * b_step, out + at * out_step};
        intptr_t dims[1] = {k};
        if (r->flags & GB_GU_R_IN_PLACE) {
            ((gb_gu_numpy_loop)r->loop)(args, dims, steps, r->data);
            continue;
        }
        int64_t begin = gb_nanoseconds();
        if (r->form == GB_GU_NUMPY_LOOP) {
            ((gb_gu_numpy_loop)r->loop)(args, dims, steps, r->data);
        } else {
            memset(w->status, 0, (size_t)k);
            if (((gb_gu_status_loop)r->loop)(args, dims, steps, r->data, w->status))
                for (int64_t i = 0; i < k; i++)
                    if (w->status[i]) fail(w, first == ONE_OUTPUT ? 0 : first + at + i);
        }
        w->ns = (double)(gb_nanoseconds() - begin) / (double)k;
        if (w->ns > 1000 && is_stopped(w, INT64_MAX)) return;
    }
}

/* *into = f(*into, x), n outputs. */
void gb_gu_combine(gb_gu_folder *w, char **into, const char *x, intptr_t step, int64_t n) {
    int64_t item = w->r->item;
    if (w->r->flags & GB_GU_R_IN_PLACE) {
        call(w, *into, item, x, step, *into, item, n, 0);
        return;
    }
    call(w, *into, item, x, step, w->spare, item, n, 0);
    swap(into, &w->spare);
}

/* Counts into the lowest accumulator; a full one goes into the next level. */
static void count(gb_gu_folder *w, int64_t n) {
    w->count[0]++;
    for (int l = 0; l + 1 < w->r->levels && w->count[l] == GB_GU_R_CASCADE; l++) {
        if (w->count[l + 1]) gb_gu_combine(w, &w->acc[l + 1], w->acc[l], w->r->item, n);
        else swap(&w->acc[l], &w->acc[l + 1]);
        w->count[l + 1]++;
        w->count[l] = 0;
    }
}

/* Copies a value n times, twice as much with each copy. */
static void fill(char *to, const char *value, int64_t item, int64_t n) {
    if (n < 1) return;
    memcpy(to, value, (size_t)item);
    for (int64_t have = 1, more; have < n; have += more) {
        more = have < n - have ? have : n - have;
        memcpy(to + have * item, to, (size_t)(more * item));
    }
}

/* Folds one more value into each of n outputs. */
static void absorb(gb_gu_folder *w, const char *x, intptr_t step, int64_t n) {
    if (w->count[0]) gb_gu_combine(w, &w->acc[0], x, step, n);
    else if (step == w->r->item) memcpy(w->acc[0], x, (size_t)(n * step));
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(w->acc[0] + i * w->r->item, x + i * step, (size_t)w->r->item);
    count(w, n);
}

/* ---- side by side ---- */

/* Without branches: masks are hard to predict. */
#define FOR_ITEM(item, DO)             \
    switch (item) {                    \
    case 1: DO(1) break;               \
    case 2: DO(2) break;               \
    case 4: DO(4) break;               \
    case 8: DO(8) break;               \
    default: DO((size_t)(item)) break; \
    }

/* Packs the selected items of a stretch. */
static int64_t pick(char *to, const char *x, intptr_t step, const char *mask, intptr_t mask_step,
                    int64_t item, int64_t n) {
    int64_t k = 0;
#define PICK(bytes)                                           \
    for (int64_t i = 0; i < n; i++) {                         \
        memcpy(to + k * (int64_t)bytes, x + i * step, bytes); \
        k += mask[i * mask_step] != 0;                        \
    }
    FOR_ITEM(item, PICK)
    return k;
}

/* Copies the items of a stretch, with `value` where the mask is 0. */
static void blend(char *to, const char *x, intptr_t step, const char *mask, intptr_t mask_step,
                  const char *value, int64_t item, int64_t n) {
#define BLEND(bytes)                \
    for (int64_t i = 0; i < n; i++) \
        memcpy(to + i * (int64_t)bytes, mask[i * mask_step] ? x + i * step : value, bytes);
    FOR_ITEM(item, BLEND)
}

/* Items in kernel form; masked items are neither read nor converted. */
static int64_t picked(gb_gu_folder *w, char *to, const char *x, intptr_t step, const char *mask,
                      intptr_t mask_step, int64_t n) {
    const gb_gu_operand *in = &w->r->in;
    if (!mask) {
        gb_gu_pack(to, in, x, step, n);
        return n;
    }
    if (in->from == in->to && !in->swapped) return pick(to, x, step, mask, mask_step, in->item, n);
    int64_t k = pick(w->raw, x, step, mask, mask_step, in->item, n);
    if (k) gb_gu_pack(to, in, w->raw, in->item, k);
    return k;
}

/* A masked row of outputs; without an identity only the selected ones are touched. */
static void masked_row(gb_gu_folder *w, const char *x, const char *mask, int64_t n) {
    const gb_gu_reduction *r = w->r;
    intptr_t step = r->in.strides[r->nkept - 1], mask_step = r->kept_where[r->nkept - 1];
    int64_t item = r->item;
    if (r->flags & GB_GU_R_IDENTITY) {
        if (!w->count[0]) {
            fill(w->acc[0], w->run->identity, item, n);
            w->count[0] = 1;
        }
        if (r->in.from == r->in.to && !r->in.swapped) {
            blend(w->stage, x, step, mask, mask_step, w->run->identity, item, n);
        } else {
            int64_t k = picked(w, w->stage, x, step, mask, mask_step, n);
            for (int64_t i = n; i-- > 0;) /* from the end: the chosen ones move apart */
                if (mask[i * mask_step])
                    memmove(w->stage + i * item, w->stage + --k * item, (size_t)item);
                else memcpy(w->stage + i * item, w->run->identity, (size_t)item);
        }
        absorb(w, w->stage, item, n);
        return;
    }
    int64_t k = picked(w, w->stage, x, step, mask, mask_step, n);
    if (k == 0) return;
    k = 0;
    for (int64_t i = 0, run; i < n; i += run) {
        for (run = 0; i + run < n && mask[(i + run) * mask_step]; run++) {}
        if (run == 0) {
            run = 1;
            continue;
        }
        char *acc = w->acc[0] + i * item;
        call(w, acc, item, w->stage + k * item, item, r->flags & GB_GU_R_IN_PLACE ? acc : w->spare,
             item, run, i);
        if (!(r->flags & GB_GU_R_IN_PLACE)) memcpy(acc, w->spare, (size_t)(run * item));
        k += run;
    }
}

static void across(gb_gu_folder *w, walk *at, int64_t n, int64_t from, int64_t to) {
    const gb_gu_reduction *r = w->r;
    intptr_t step = r->nkept ? r->in.strides[r->nkept - 1] : 0;
    int d = r->nfold - 1;
    for (int64_t f = from, run; f < to; f += run) {
        run = r->fold_shape[d] - at->index[d] < to - f ? r->fold_shape[d] - at->index[d] : to - f;
        for (int64_t i = 0; i < run; i++) {
            const char *x = at->in + i * r->fold_in[d];
            if (r->flags & GB_GU_R_MASKED) {
                masked_row(w, x, at->where + i * r->fold_where[d], n);
            } else if (!w->count[0]) {
                gb_gu_pack(w->acc[0], &r->in, x, step, n);
                count(w, n);
            } else if (r->flags & GB_GU_R_STAGED) {
                gb_gu_pack(w->stage, &r->in, x, step, n);
                absorb(w, w->stage, r->item, n);
            } else {
                absorb(w, x, step, n);
            }
            if (is_stopped(w, n)) return;
        }
        if (f + run < to) walk_on(r, at, run);
    }
}

/* ---- along a row ---- */

/* A row of a kernel that must not write to its inputs: in lanes, then in halves. */
static const char *fold_lanes(gb_gu_folder *w, const char *x, intptr_t step, int64_t n) {
    const gb_gu_reduction *r = w->r;
    int64_t lanes = 1, item = r->item;
    while (lanes < r->lanes && lanes * 8 <= n) lanes *= 2;
    char *here = w->lanes[0], *there = w->lanes[1];
    for (int64_t j = 0; j < lanes; j++) memcpy(here + j * item, x + j * step, (size_t)item);
    for (int64_t i = lanes; i < n; i += lanes) {
        int64_t k = n - i < lanes ? n - i : lanes;
        call(w, here, item, x + i * step, step, there, item, k, ONE_OUTPUT);
        if (k < lanes) memcpy(there + k * item, here + k * item, (size_t)((lanes - k) * item));
        swap(&here, &there);
    }
    for (; lanes > 1; lanes /= 2) {
        call(w, here, item, here + lanes / 2 * item, item, there, item, lanes / 2, ONE_OUTPUT);
        swap(&here, &there);
    }
    return here;
}

static void fold_row(gb_gu_folder *w, const char *x, intptr_t step, int64_t n) {
    const gb_gu_reduction *r = w->r;
    if (n == 0) return;
    if (r->flags & GB_GU_R_IN_PLACE) {
        if (!w->count[0]) {
            memcpy(w->acc[0], x, (size_t)r->item);
            x += step;
            n--;
        }
        if (n) call(w, w->acc[0], 0, x, step, w->acc[0], 0, n, ONE_OUTPUT);
        count(w, 1);
    } else if (r->flags & GB_GU_R_SEQUENTIAL) {
        for (int64_t i = 0; i < n; i++) absorb(w, x + i * step, step == r->item ? step : 0, 1);
    } else {
        absorb(w, n == 1 ? x : fold_lanes(w, x, step, n), r->item, 1);
    }
}

static void along(gb_gu_folder *w, walk *at, int64_t from, int64_t to) {
    const gb_gu_reduction *r = w->r;
    int d = r->nfold - 1, staged = r->flags & (GB_GU_R_STAGED | GB_GU_R_MASKED);
    intptr_t step = r->fold_in[d], mask_step = r->fold_where[d];
    int64_t filled = 0;
    for (int64_t f = from, run; f < to; f += run) {
        run = r->fold_shape[d] - at->index[d] < to - f ? r->fold_shape[d] - at->index[d] : to - f;
        if (run > r->piece - filled) run = r->piece - filled;
        if (!staged) {
            fold_row(w, at->in, step, run);
        } else {
            filled += picked(w, w->stage + filled * r->item, at->in, step,
                             r->flags & GB_GU_R_MASKED ? at->where : NULL, mask_step, run);
            if (filled == r->piece || f + run == to) {
                fold_row(w, w->stage, r->item, filled);
                filled = 0;
            }
        }
        if (is_stopped(w, run)) return;
        if (f + run < to) walk_on(r, at, run);
    }
}

/* ---- both ---- */

char *gb_gu_fold(gb_gu_folder *w, const char *in, const char *where, int64_t n, int64_t from,
                 int64_t to, int first) {
    const gb_gu_reduction *r = w->r;
    walk at;
    memset(w->count, 0, sizeof w->count);
    if (first && w->run->has_start) {
        fill(w->acc[0], w->run->start, r->item, n);
        w->count[0] = 1;
    }
    if (from < to) {
        walk_to(r, &at, in, where, from);
        if (r->flags & GB_GU_R_ACROSS) across(w, &at, n, from, to);
        else along(w, &at, from, to);
    }
    int top = GB_GU_R_LEVELS - 1;
    while (top > 0 && !w->count[top]) top--;
    if (!w->count[top])
        fill(w->acc[0], w->run->identity, r->item, n); /* a block in which the mask chose nothing */
    for (int l = top - 1; l >= 0; l--)
        if (w->count[l]) gb_gu_combine(w, &w->acc[top], w->acc[l], r->item, n);
    return w->acc[top];
}
