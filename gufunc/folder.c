/* folder.c: one worker of a reduction: its room, when it stops, and its place in the loops that go.
 */
#include "folder.h"

#define LOOK 1000000 /* elements between looks whether to stop */

int gb_gu_folder_init(gb_gu_folder *w, gb_gu_reducing *run, char *room) {
    const gb_gu_reduction *r = run->r;
    /* The one place where sizes of elements meet scratch memory. */
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

int gb_gu_folder_stopped(gb_gu_folder *w, int64_t n) {
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

/* ---- its place ---- */

void gb_gu_walk_fold(const gb_gu_reduction *r, gb_gu_walk *at, const char *in, const char *where,
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

void gb_gu_walk_on(const gb_gu_reduction *r, gb_gu_walk *at, int64_t n) {
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
