/* fold_state.c: folding with a state, in the order of the indices. */
#include "folder.h"
#include "cast.h"

static char *state_of(gb_gu_folder *w, int64_t i) { return w->acc[0] + i * w->r->item; }

static void step(gb_gu_folder *w, int64_t i, int64_t first, int64_t n, const char *x,
                 intptr_t x_step) {
    char *args[1] = {(char *)x};
    w->r->state.step(state_of(w, i), first, n, args, &x_step, w->r->state.data);
}

/* Outputs that are neighbours: some rows of them are turned, so that each has its elements
 * together. */
static void across(gb_gu_folder *w, gb_gu_walk *at, int64_t n, int64_t from, int64_t to) {
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
        for (int64_t c = 0; c < n; c++) step(w, c, f, run, w->stage + c * column, item);
        if (gb_gu_folder_stopped(w, run * n)) return;
        if (f + run < to) gb_gu_walk_on(r, at, run);
    }
}

static void along(gb_gu_folder *w, gb_gu_walk *at, int64_t from, int64_t to) {
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
                step(w, 0, f + run - filled, filled, w->stage, item);
                filled = 0;
            }
        } else {
            step(w, 0, f, run, at->in, r->fold_in[d]);
        }
        if (gb_gu_folder_stopped(w, run)) return;
        if (f + run < to) gb_gu_walk_on(r, at, run);
    }
}

char *gb_gu_fold_states(gb_gu_folder *w, const char *in, int64_t n, int64_t from, int64_t to) {
    const gb_gu_reduction *r = w->r;
    gb_gu_walk at;
    for (int64_t i = 0; i < n; i++) memcpy(state_of(w, i), r->state.init, (size_t)r->state.size);
    if (from == to) return w->acc[0];
    gb_gu_walk_fold(r, &at, in, NULL, from);
    if (r->flags & GB_GU_R_ACROSS) across(w, &at, n, from, to);
    else along(w, &at, from, to);
    return w->acc[0];
}
