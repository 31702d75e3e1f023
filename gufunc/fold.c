/* fold.c: reductions as kernels. gb_fold is a status loop for (n)->() that folds rows
 * with a two-input loop; with a mask it is (n),(n)->(). The accumulator is never input
 * and output of one call: there are two, which take turns.
 *
 * What is added to what depends on the shape and strides alone: a row that lies along
 * memory is folded into LANES lanes, which are then folded in halves; rows that lie
 * across memory are folded side by side; an ordered fold goes from left to right. It
 * does not depend on how many rows a call has, for failed rows are run again alone.
 */
#include "fold.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 512 };

typedef struct folder {
    const gb_fold *f;
    int64_t item;
    uint8_t *status, failed;
    char *here, *there, *room;   /* the two accumulators, and picked inputs */
} folder;

/* out = f(a, b), n of them. */
static void combine(folder *w, const char *a, intptr_t a_step, const char *b, intptr_t b_step, char *out, intptr_t out_step, intptr_t n, uint8_t *status) {
    char *args[3] = {(char *)a, (char *)b, out};
    intptr_t dims[1] = {n}, steps[3] = {a_step, b_step, out_step};
    if (w->f->form == GB_NUMPY_LOOP) {
        ((gb_numpy_loop)w->f->loop)(args, dims, steps, w->f->data);
        return;
    }
    memset(w->status, 0, (size_t)n);
    if (!((gb_status_loop)w->f->loop)(args, dims, steps, w->f->data, w->status)) return;
    for (intptr_t i = 0; i < n; i++) {
        w->failed |= w->status[i];
        if (status) status[i] |= w->status[i];
    }
}

static void turn(folder *w) {
    char *t = w->here;
    w->here = w->there;
    w->there = t;
}

/* n of the row's elements; where the mask leaves one out, the identity stands in. */
static const char *piece(folder *w, const char *x, intptr_t *step, const char *mask, intptr_t mask_step, int64_t n) {
    if (!mask) return x;
    for (int64_t i = 0; i < n; i++) memcpy(w->room + i * w->item, mask[i * mask_step] ? x + i * *step : w->f->identity, (size_t)w->item);
    *step = w->item;
    return w->room;
}

/* A row into one value at w->here. */
static void fold_row(folder *w, const char *x, intptr_t x_step, const char *mask, intptr_t mask_step, int64_t n) {
    int64_t lanes = 1;
    while (lanes < LANES && lanes * 8 <= n) lanes *= 2;
    for (int64_t i = 0; i < n; i += lanes) {
        int64_t k = n - i < lanes ? n - i : lanes;
        intptr_t step = x_step;
        const char *from = piece(w, x + i * x_step, &step, mask ? mask + i * mask_step : NULL, mask_step, k);
        if (i == 0) {
            for (int64_t j = 0; j < k; j++) memcpy(w->here + j * w->item, from + j * step, (size_t)w->item);
            continue;
        }
        combine(w, w->here, w->item, from, step, w->there, w->item, k, NULL);
        if (k < lanes) memcpy(w->there + k * w->item, w->here + k * w->item, (size_t)((lanes - k) * w->item));
        turn(w);
    }
    for (; lanes > 1; lanes /= 2) {
        combine(w, w->here, w->item, w->here + lanes / 2 * w->item, w->item, w->there, w->item, lanes / 2, NULL);
        turn(w);
    }
}

/* From left to right. */
static void fold_ordered(folder *w, const char *x, intptr_t step, const char *mask, intptr_t mask_step, int64_t n) {
    int64_t i = 0;
    if (w->f->has_start) memcpy(w->here, w->f->start, (size_t)w->item);
    else memcpy(w->here, x + i++ * step, (size_t)w->item);
    for (; i < n; i++) {
        if (mask && !mask[i * mask_step]) continue;
        combine(w, w->here, w->item, x + i * step, step, w->there, w->item, 1, NULL);
        turn(w);
    }
}

/* Several rows at once, left to right each; the first value is that of every row. */
static intptr_t fold_side_by_side(folder *w, char **args, const intptr_t *steps, int64_t rows, int64_t n, uint8_t *status) {
    for (int64_t r = 0; r < rows; r++)
        memcpy(w->here + r * w->item, w->f->has_start ? w->f->start : args[0] + r * steps[0], (size_t)w->item);
    for (int64_t i = !w->f->has_start; i < n; i++) {
        combine(w, w->here, w->item, args[0] + i * steps[2], steps[0], w->there, w->item, rows, status);
        turn(w);
    }
    intptr_t failed = 0;
    for (int64_t r = 0; r < rows; r++) {
        memcpy(args[1] + r * steps[1], w->here + r * w->item, (size_t)w->item);
        failed += status[r] != 0;
    }
    return failed;
}

static intptr_t fold_rows(folder *w, char **args, const intptr_t *dims, const intptr_t *steps, int masked, uint8_t *status) {
    const intptr_t *core = steps + 2 + masked;
    intptr_t failed = 0;
    for (intptr_t e = 0; e < dims[0]; e++) {
        const char *mask = masked ? args[1] + e * steps[1] : NULL;
        w->failed = 0;
        if (w->f->ordered || w->f->has_start) fold_ordered(w, args[0] + e * steps[0], core[0], mask, masked ? core[1] : 0, dims[1]);
        else fold_row(w, args[0] + e * steps[0], core[0], mask, masked ? core[1] : 0, dims[1]);
        memcpy(args[1 + masked] + e * steps[1 + masked], w->here, (size_t)w->item);
        failed += w->failed != 0;
        status[e] = w->failed;
    }
    return failed;
}

static intptr_t start(char **args, intptr_t const *dims, intptr_t const *steps, void *data, uint8_t *status, int masked) {
    const gb_fold *f = data;
    const intptr_t *core = steps + 2 + masked;
    _Alignas(64) char memory[3 * LANES * 16];
    uint8_t own[LANES];
    folder w = {f, f->item, own, 0, memory, memory + LANES * f->item, memory + 2 * LANES * f->item};
    intptr_t outer = steps[0] < 0 ? -steps[0] : steps[0], inner = core[0] < 0 ? -core[0] : core[0];
    if (masked || outer == 0 || outer >= inner) return fold_rows(&w, args, dims, steps, masked, status);
    intptr_t failed = 0;
    for (intptr_t e = 0; e < dims[0]; e += LANES) {
        char *here[2] = {args[0] + e * steps[0], args[1] + e * steps[1]};
        failed += fold_side_by_side(&w, here, steps, dims[0] - e < LANES ? dims[0] - e : LANES, dims[1], status + e);
    }
    return failed;
}

intptr_t gb_fold_loop(char **args, intptr_t const *dims, intptr_t const *steps, void *data, uint8_t *status) {
    return start(args, dims, steps, data, status, 0);
}
intptr_t gb_fold_masked_loop(char **args, intptr_t const *dims, intptr_t const *steps, void *data, uint8_t *status) {
    return start(args, dims, steps, data, status, 1);
}

/* ---- with a state ---- */

/* (n),(),()->(s): the state of n elements, the first of which has the index in the second input. */
intptr_t gb_state_step_loop(char **args, intptr_t const *dims, intptr_t const *steps, void *data, uint8_t *status) {
    const gb_state_kernel *k = data;
    for (intptr_t e = 0; e < dims[0]; e++) {
        char *state = args[2] + e * steps[2], *from = args[0] + e * steps[0];
        memcpy(state, (const char *)data + sizeof *k, (size_t)k->size);
        k->step(state, *(const int64_t *)(args[1] + e * steps[1]), dims[1], &from, &steps[3], k->data);
    }
    return 0;
}

/* (b,s)->() or (b,s)->(),(): join the states in their order and finish. */
intptr_t gb_state_merge_loop(char **args, intptr_t const *dims, intptr_t const *steps, void *data, uint8_t *status) {
    const gb_state_kernel *k = data;
    intptr_t failed = 0;
    char *state = aligned_alloc(64, (size_t)((k->size + 63) / 64 * 64));
    const intptr_t *core = steps + 1 + k->outputs;
    for (intptr_t e = 0; e < dims[0]; e++) {
        char *outs[GB_MAXARGS], *from = args[0] + e * steps[0];
        for (int o = 0; o < k->outputs; o++) outs[o] = args[1 + o] + e * steps[1 + o];
        int bad = !state;
        if (state) {
            memcpy(state, dims[1] ? from : (const char *)data + sizeof *k, (size_t)k->size);
            for (intptr_t i = 1; i < dims[1]; i++) k->merge(state, from + i * core[0], k->data);
            bad = k->final(state, outs, k->data) != 0;
        }
        failed += bad;
        status[e] = (uint8_t)bad;
    }
    free(state);
    return failed;
}
