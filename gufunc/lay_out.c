/* lay_out.c: the loops of a call whose kernel is known: ordered, joined, cut into chunks. The last
 * step of Go's compiler, and the only one in a forked child, which has no Go: gb_gu_call_like makes
 * a call of any sizes for a kernel without core dimensions. */
#include "../alloc/plan.h"
#include "call.h"

/* Traffic of a chunk: enough to make its start cheap, little enough to stay in cache and to come
 * back soon. */
enum {
    CHUNK_BYTES = 256 << 10,
    CHUNK_LEAST = 4096,
    CHUNK_MOST = 65536,
    STAGE_BYTES = 16 << 10, /* scratch memory for staged operands: it stays in the first cache
                               beside what streams through */
};

static int64_t distance(int64_t stride) { return stride < 0 ? -stride : stride; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

/* Dimension d is a loop outside of e: the first operand that moves along both decides, outputs
 * before inputs. */
static int runs_outside(const gb_gu_call *c, const gb_gu_tracks *t, int d, int e) {
    for (int k = 0; k < c->nop; k++) {
        const int64_t *s = t->strides[(k + c->nin) % c->nop];
        if (s[d] && s[e] && distance(s[d]) != distance(s[e]))
            return distance(s[d]) > distance(s[e]);
    }
    return 0;
}

static int64_t *strides_of(gb_gu_call *c, int i) {
    return i < c->nop ? c->op[i].strides : c->where_strides;
}

/* A loop inside the others, or joined to the innermost. */
static void push(gb_gu_call *c, const gb_gu_tracks *t, int tracks, int d) {
    int last = c->ndim - 1, join = last >= 0;
    int64_t size = c->outer_shape[d];
    for (int i = 0; join && i < tracks; i++)
        join = strides_of(c, i)[last] == t->strides[i][d] * size;
    if (join) c->shape[last] *= size;
    else c->shape[last = c->ndim++] = size;
    for (int i = 0; i < tracks; i++) strides_of(c, i)[last] = t->strides[i][d];
}

void gb_gu_call_nest(gb_gu_call *c, const gb_gu_tracks *t) {
    int order[GB_MAXDIMS], n = 0, tracks = c->nop + (c->flags & GB_GU_WHERE ? 1 : 0);
    for (int d = 0; d < c->outer_ndim; d++) {
        if (c->outer_shape[d] == 1) continue;
        int at = n++;
        for (; at > 0 && runs_outside(c, t, d, order[at - 1]); at--) order[at] = order[at - 1];
        order[at] = d;
    }
    uint64_t step = 1;
    for (int i = n; i-- > 0; step *= (uint64_t)c->outer_shape[order[i]])
        c->code_strides[order[i]] = (int64_t)step;
    for (int i = 0; i < n; i++) push(c, t, tracks, order[i]);
    if (!c->ndim) c->shape[c->ndim++] = c->n;
}

/* Blocks may span several inner loops where every operand is in scratch memory. */
static void gather(gb_gu_call *c, int64_t items) {
    int every = 1;
    for (int i = 0; i < c->nop; i++) every &= c->op[i].staged;
    if (c->ndim < 2 || !(every || c->shape[c->ndim - 1] < GB_GU_SHORT_RUN / items)) return;
    c->flags |= GB_GU_GATHER;
    for (int i = 0; i < c->nop; i++) c->op[i].staged = 1;
}

static int64_t take(int64_t *scratch, int64_t bytes) {
    int64_t start = *scratch;
    *scratch += (bytes + 63) & ~63ll; /* on a cache line */
    return start;
}

/* Neither how many elements are taken at once nor where they are cut (pieces.c) depends on the
 * number of workers. */
void gb_gu_call_cut(gb_gu_call *c) {
    int64_t traffic = 1, packed = 1, items = 1;
    for (int i = 0; i < c->nop; i++) {
        traffic += c->op[i].item * c->op[i].core_items;
        packed += gb_gu_packed_bytes(&c->op[i]);
        items = most(items, c->op[i].core_items);
    }
    gather(c, items);
    c->chunk = least(most(most(CHUNK_BYTES / traffic, CHUNK_LEAST / items), 1), CHUNK_MOST);
    c->block = least(least(most(STAGE_BYTES / packed, 1), c->chunk), most(c->n, 1));
    c->nchunks = (c->n + c->chunk - 1) / c->chunk;
    c->scratch = 0;
    for (int i = 0; i < c->nop; i++)
        c->op[i].at = take(&c->scratch, c->block * gb_gu_packed_bytes(&c->op[i]));
    c->status_at = take(&c->scratch, c->block);
    c->select_at = take(&c->scratch, c->block);
    c->picked_at = take(&c->scratch, 4 * (c->block + 1));
}

/* ---- a call like another one ---- */

/* The names of the outer dimensions; returns how many dimensions there are. The order is that of
 * the first input or mask that has all names, else ascending: see names in bind.go. */
static int outer_names(const gb_gu_call *c, const gb_gu_view *v, int n, int named, int32_t *names) {
    int rank = 0;
    for (int i = 0; i < n; i++) {
        if (v[i].absent) continue;
        if (!named) rank = v[i].ndim > rank ? v[i].ndim : rank;
        for (int axis = 0; named && v[i].dims && axis < v[i].ndim; axis++) {
            int at = 0, behind;
            while (at < rank && names[at] < v[i].dims[axis]) at++;
            if (at < rank && names[at] == v[i].dims[axis]) continue;
            if (rank == GB_MAXDIMS) return rank + 1;
            for (behind = rank++; behind > at; behind--) names[behind] = names[behind - 1];
            names[at] = v[i].dims[axis];
        }
    }
    for (int i = 0; named && i < n; i++) {
        int output = i >= c->nin && i < c->nop;
        if (output || !v[i].dims || v[i].ndim != rank) continue;
        memcpy(names, v[i].dims, (size_t)rank * sizeof *names);
        break;
    }
    return rank;
}

/* The axis of a view along outer dimension d; -1: none. */
static int axis_along(const gb_gu_view *v, int named, const int32_t *names, int rank, int d) {
    if (v->absent) return -1;
    if (!named || !v->dims) return d - (rank - v->ndim) < 0 ? -1 : d - (rank - v->ndim);
    for (int axis = 0; axis < v->ndim; axis++)
        if (v->dims[axis] == names[d]) return axis;
    return -1;
}

static int broadcast(gb_gu_call *c, const gb_gu_view *v, int n, int named, const int32_t *names,
                     gb_gu_tracks *t, gb_error *e) {
    int rank = c->outer_ndim;
    c->n = 1;
    for (int d = 0; d < rank; d++) {
        int64_t size = 1;
        for (int i = 0; i < n; i++) {
            int axis = axis_along(&v[i], named, names, rank, d);
            int64_t own = axis < 0 ? 1 : v[i].shape[axis];
            if (own == 1) continue;
            if (size != 1 && size != own)
                return gb_refuse(
                    e, GB_SIGNATURE_ERROR,
                    "operands do not broadcast: sizes %lld and %lld in outer dimension %d",
                    (long long)size, (long long)own, d);
            size = own;
            t->strides[i][d] = v[i].strides[axis];
        }
        c->outer_shape[d] = size;
        if (__builtin_mul_overflow(c->n, size, &c->n))
            return gb_refuse(e, GB_SIGNATURE_ERROR, "the outer shape has more than 2^63 elements");
    }
    for (int i = c->nin; i < c->nop; i++)
        for (int d = 0; !v[i].absent && d < rank; d++) {
            int axis = axis_along(&v[i], named, names, rank, d);
            if (axis < 0 ? c->outer_shape[d] != 1 || v[i].dims
                         : v[i].shape[axis] != c->outer_shape[d])
                return gb_refuse(e, GB_SIGNATURE_ERROR,
                                 "out: it cannot be broadcast to the operands' %d outer dimensions",
                                 rank);
        }
    return 0;
}

/* Orders dimensions by the strides of the input with most dimensions, the largest first; dimensions
 * without a stride keep their place. */
static void output_layout(const gb_gu_call *c, const gb_gu_tracks *t, int32_t *layout) {
    static const int64_t none[GB_MAXDIMS];
    const int64_t *like = none;
    int best = 0, order[GB_MAXDIMS], n = 0, rank = c->outer_ndim;
    for (int i = 0; i < c->nin; i++) {
        int count = 0;
        for (int d = 0; d < rank; d++) count += t->strides[i][d] != 0;
        if (count <= best) continue;
        best = count;
        like = t->strides[i];
    }
    for (int d = 0; d < rank; d++) {
        if (!like[d]) continue;
        int at = n++;
        for (; at > 0 && distance(like[order[at - 1]]) < distance(like[d]); at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
    for (int d = 0, k = 0; d < rank; d++) layout[like[d] ? order[k++] : d] = d;
}

static int plan_output(gb_gu_call *c, int i, const int32_t *names, gb_gu_tracks *t, gb_error *e) {
    int rank = c->outer_ndim;
    gb_request r = {.ndim = rank,
                    .dims_len = names ? rank : -1,
                    .aligned_len = -1,
                    .layout_len = rank,
                    .itemsize = gb_type_size(c->op[i].to)};
    memcpy(r.shape, c->outer_shape, (size_t)rank * sizeof *r.shape);
    if (names) memcpy(r.dims, names, (size_t)rank * sizeof *names);
    output_layout(c, t, r.layout);
    if (!(c->out[i] = gb_plan_new(rank)))
        return gb_refuse(e, GB_MEMORY_ERROR, "no memory left for a plan");
    if (gb_plan_request(&r, gb_preset_at(0), c->out[i], e) < 0) return -1;
    gb_plan_finish(c->out[i]);
    for (int d = 0; d < rank; d++)
        if (c->outer_shape[d] != 1) t->strides[i][d] = c->out[i]->geometry.strides[d];
    return 0;
}

static void describe(gb_gu_call *c, int i, const gb_gu_view *v) {
    gb_gu_operand *o = &c->op[i];
    o->from = v->absent ? o->to : v->type;
    o->item = gb_type_size(o->from);
    o->kernel_item = gb_type_size(o->to);
    o->core_items = 1;
    o->swapped = v->swapped && o->item > 1;
    o->staged = o->from != o->to || o->swapped || v->misaligned;
    if (o->from != o->to && i >= c->nin) c->flags |= GB_GU_CASTS_OUT;
    if (c->flags & GB_GU_WHERE && (!(c->flags & GB_GU_PURE) || i >= c->nin)) o->staged = 1;
    c->out_ndim[i] = c->outer_ndim;
}

gb_gu_call *gb_gu_call_like(const gb_gu_call *known, const gb_gu_view *v, int where, int named,
                            gb_error *e) {
    gb_gu_tracks tracks = {0};
    int32_t names[GB_MAXDIMS];
    int ok = 1, rank = outer_names(known, v, known->nop + where, named, names);
    if (known->ncore || rank > GB_MAXDIMS) {
        gb_refuse(e, GB_RUNTIME_ERROR, "a call with core dimensions, or too many dimensions");
        return NULL;
    }
    for (int i = 0; i < known->nop + where; i++)
        if (!v[i].absent && v[i].ndim > rank) {
            gb_refuse(e, GB_SIGNATURE_ERROR,
                      "an operand has %d outer dimensions; the result has %d", v[i].ndim, rank);
            return NULL;
        }
    gb_gu_call *c = gb_gu_call_new(known->nop);
    if (!c) {
        gb_refuse(e, GB_MEMORY_ERROR, "no memory left for a call");
        return NULL;
    }
    c->nin = known->nin;
    c->nop = known->nop;
    c->form = known->form;
    c->fp_mask = known->fp_mask;
    c->kernel = known->kernel;
    c->function = known->function;
    c->data = known->data;
    c->flags = (known->flags & ~(GB_GU_WHERE | GB_GU_GATHER | GB_GU_CASTS_OUT)) |
               (where ? GB_GU_WHERE : 0);
    c->outer_ndim = rank;
    for (int i = 0; i < c->nop; i++) c->op[i].to = known->op[i].to;
    ok = broadcast(c, v, c->nop + where, named, names, &tracks, e) == 0;
    for (int i = c->nin; ok && i < c->nop; i++)
        if (v[i].absent) ok = plan_output(c, i, named ? names : NULL, &tracks, e) == 0;
    if (!ok) {
        gb_gu_call_free(c);
        return NULL;
    }
    for (int i = 0; i < c->nop; i++) describe(c, i, &v[i]);
    gb_gu_call_nest(c, &tracks);
    gb_gu_call_cut(c);
    return c;
}
