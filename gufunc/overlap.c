/* overlap.c: inputs that share memory with outputs: found, and copied where outputs would overwrite
 * them. */
#include "call.h"
#include "cast.h"

#include "../alloc/strides.h"

/* ---- boundaries ----
 *
 * Inputs and an output that are neighbouring views of the same memory, as in f(v[:-1], out=v[1:]).
 * Blocks are read into scratch memory before they are written, so only elements that other blocks
 * overwrite are copied beforehand: the boundary of each block, as wide as the views are apart. Only
 * for kernels that are cut into chunks: the cuts of measured kernels are not known beforehand. */

/* A boundary is at most 1/4 of a block; wider ones cost as much as a whole copy. */
#define WIDEST 4

static int64_t blocks_per_chunk(const gb_gu_call *call) {
    return (call->chunk + call->block - 1) / call->block;
}

/* Whether the address ranges of input i and of the output meet. */
static int meets(const gb_gu_run *job, int i, int64_t item, int64_t stride, int o) {
    const gb_gu_call *call = job->call;
    int64_t reach = (call->n - 1) * stride, out_reach = (call->n - 1) * call->op[o].strides[0];
    const char *p = job->data[i], *q = job->data[o];
    const char *low = p + (reach < 0 ? reach : 0), *high = p + (reach > 0 ? reach : 0) + item;
    const char *out_low = q + (out_reach < 0 ? out_reach : 0),
               *out_high = q + (out_reach > 0 ? out_reach : 0) + call->op[o].item;
    return low < out_high && out_low < high;
}

/* 1: the views are alike and near each other, *boundary elements apart. */
static int neighbours(const gb_gu_run *job, int i, int o, int64_t *boundary) {
    const gb_gu_operand *p = &job->call->op[i], *q = &job->call->op[o];
    int64_t stride = p->strides[0], apart = job->data[o] - job->data[i];
    if (stride == 0 || stride != q->strides[0] || p->from != p->to || p->item > llabs(stride) ||
        q->item > llabs(stride))
        return 0;
    *boundary = apart / stride;
    return apart % stride == 0 && llabs(*boundary) <= job->call->block / WIDEST;
}

__attribute__((cold, noinline)) static int save(gb_gu_run *job, int i, int64_t boundary,
                                                gb_error *error) {
    const gb_gu_call *call = job->call;
    const gb_gu_operand *o = &call->op[i];
    int64_t wide = llabs(boundary), per = blocks_per_chunk(call);
    gb_gu_input_copy *s = gb_gu_run_copy(job, i);
    char *to = s->block = gb_gu_take_room(call->nchunks * per * wide * o->item, error);
    if (!to) return -1;
    s->boundary = boundary;
    for (int64_t c = 0; c < call->nchunks; c++)
        for (int64_t k = 0; k < per; k++, to += wide * o->item) {
            int64_t first = c * call->chunk + k * call->block,
                    last = k + 1 < per ? first + call->block : (c + 1) * call->chunk;
            if (last > call->n) last = call->n;
            if (first >= last) continue;
            int64_t len = wide < last - first ? wide : last - first;
            const char *from = job->data[i] + (boundary > 0 ? first : last - len) * o->strides[0];
            for (int64_t e = 0; e < len; e++)
                memcpy(to + e * o->item, from + e * o->strides[0], (size_t)o->item);
        }
    return 0;
}

/* 1 when every input that the output overlaps is protected by its boundaries, 0 when they need
 * copies, -1. */
static int protect_boundaries(gb_gu_run *job, gb_error *e) {
    const gb_gu_call *call = job->call;
    int o = call->nin;
    int64_t boundary[GB_GU_MAXARGS];
    uint32_t near = 0;
    int apart = 0;
    if (call->flags & GB_GU_NEW_OUTPUTS && call->out[o]) return 0;
    if (job->measured || call->ndim != 1 || call->nop != o + 1 || call->op[o].core_ndim ||
        llabs(call->op[o].strides[0]) < call->op[o].item)
        return 0;
    if (call->flags & GB_GU_WHERE && meets(job, call->nin + 1, 1, call->where_strides[0], o))
        return 0;
    for (int i = 0; i < call->nin; i++) {
        if (call->op[i].core_ndim) return 0;
        if (!meets(job, i, call->op[i].item, call->op[i].strides[0], o)) continue;
        if (!neighbours(job, i, o, &boundary[i])) return 0;
        near |= 1u << i;
        apart |= boundary[i] != 0;
    }
    if (!apart) return !near;
    for (int i = 0; i < call->nin; i++) {
        if (!(near >> i & 1)) continue;
        job->staged |= 1u << i;
        job->in_place = 1;
        if (boundary[i] && save(job, i, boundary[i], e) < 0) return -1;
    }
    return 1;
}

void gb_gu_stage_boundary(gb_gu_block *b, int op, const char *from, int64_t len) {
    const gb_gu_call *call = b->job->call;
    const gb_gu_operand *o = &call->op[op];
    const gb_gu_input_copy *s = &b->job->copied[op];
    int64_t wide = llabs(s->boundary), step = o->strides[0], packed = gb_gu_packed_bytes(o);
    int64_t block =
        b->at / call->chunk * blocks_per_chunk(call) + b->at % call->chunk / call->block;
    const char *saved = (const char *)s->block + block * wide * o->item;
    char *to = b->scratch + o->at;
    if (wide > len) wide = len;
    if (s->boundary > 0) {
        gb_gu_pack(to, o, saved, o->item, wide);
        gb_gu_pack(to + wide * packed, o, from + wide * step, step, len - wide);
    } else {
        gb_gu_pack(to, o, from, step, len - wide);
        gb_gu_pack(to + (len - wide) * packed, o, saved, o->item, wide);
    }
}

/* ---- shared bytes ----
 *
 * Two views share a byte if sum(k_i * stride_i) hits a target for whole numbers k_i within bounds.
 * The search goes from the largest stride down, and stays in the range that the rest can reach. */

typedef struct term {
    int64_t stride, low, high;
} term;
typedef struct sum {
    int n;
    term t[2 * (GB_MAXDIMS + GB_GU_MAXCORE) + 2];
    int64_t work;
} sum;

#define MOST_WORK 20000

static void add_term(sum *s, int64_t stride, int64_t low, int64_t high) {
    if (low == high || stride == 0) return; /* low == high == 0 by construction */
    if (stride < 0) {
        int64_t t = low;
        stride = -stride;
        low = -high;
        high = -t;
    }
    for (int i = 0; i < s->n; i++)
        if (s->t[i].stride == stride) {
            s->t[i].low += low;
            s->t[i].high += high;
            return;
        }
    int i = s->n++;
    for (; i > 0 && s->t[i - 1].stride < stride; i--) s->t[i] = s->t[i - 1];
    s->t[i] = (term){stride, low, high};
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b && (a < 0) != (b < 0)); }

/* Whether the terms from i on can reach target: 1 yes, 0 no, -1 too much work. */
static int reach(sum *s, int i, int64_t target) {
    if (i == s->n) return target == 0;
    if (++s->work > MOST_WORK) return -1;
    __int128 rest_low = 0, rest_high = 0;
    for (int j = i + 1; j < s->n; j++) {
        rest_low += (__int128)s->t[j].stride * s->t[j].low;
        rest_high += (__int128)s->t[j].stride * s->t[j].high;
    }
    const term *t = &s->t[i];
    if (i + 1 == s->n) {
        if (target % t->stride) return 0;
        int64_t k = target / t->stride;
        return k >= t->low && k <= t->high;
    }
    __int128 low = (__int128)target - rest_high, high = (__int128)target - rest_low;
    int64_t from = t->low, to = t->high;
    if (low > (__int128)from * t->stride) from = -floor_div((int64_t)-low, t->stride);
    if (high < (__int128)to * t->stride) to = floor_div((int64_t)high, t->stride);
    for (int64_t k = from; k <= to; k++) {
        int found = reach(s, i + 1, target - k * t->stride);
        if (found) return found;
    }
    return 0;
}

int gb_gu_views_overlap(const char *a, const int64_t *a_shape, const int64_t *a_strides, int a_ndim,
                        int64_t a_item, const char *b, const int64_t *b_shape,
                        const int64_t *b_strides, int b_ndim, int64_t b_item) {
    intptr_t a_low, a_high, b_low, b_high;
    if (!gb_extent(a, a_shape, a_strides, a_ndim, a_item, &a_low, &a_high)) return 0;
    if (!gb_extent(b, b_shape, b_strides, b_ndim, b_item, &b_low, &b_high)) return 0;
    if (a_high <= b_low || b_high <= a_low) return 0;
    sum s = {0};
    for (int d = 0; d < a_ndim; d++) add_term(&s, a_strides[d], 0, a_shape[d] - 1);
    for (int d = 0; d < b_ndim; d++) add_term(&s, b_strides[d], 1 - b_shape[d], 0);
    add_term(&s, 1, 1 - b_item, a_item - 1);
    return reach(&s, 0, b - a) != 0;
}

int gb_gu_self_overlap(const int64_t *shape, const int64_t *strides, int ndim, int64_t item) {
    int order[GB_MAXDIMS + GB_GU_MAXCORE], n = 0;
    for (int d = 0; d < ndim; d++)
        if (shape[d] == 0) return 0;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] == 1) continue;
        if (strides[d] == 0) return 1;
        int i = n++;
        for (; i > 0 && llabs(strides[order[i - 1]]) > llabs(strides[d]); i--)
            order[i] = order[i - 1];
        order[i] = d;
    }
    /* Most views nest: every stride is beyond all smaller ones together. */
    int64_t reached = item;
    int nested = 1;
    for (int i = 0; i < n && nested; i++) {
        nested = llabs(strides[order[i]]) >= reached;
        reached += (shape[order[i]] - 1) * llabs(strides[order[i]]);
    }
    if (nested) return 0;
    /* Two different elements share a byte when, in the first index in which they differ, the
     * difference is positive. */
    for (int first = 0; first < n; first++) {
        sum s = {0};
        int64_t stride = strides[order[first]];
        add_term(&s, stride, 0, shape[order[first]] - 2);
        for (int i = first + 1; i < n; i++)
            add_term(&s, strides[order[i]], 1 - shape[order[i]], shape[order[i]] - 1);
        add_term(&s, 1, 1 - item, item - 1);
        if (reach(&s, 0, -stride) != 0) return 1;
    }
    return 0;
}

/* ---- protecting inputs ---- */

typedef struct view {
    int ndim;
    int64_t shape[GB_MAXDIMS + GB_GU_MAXCORE], strides[GB_MAXDIMS + GB_GU_MAXCORE];
} view;

/* Entries beyond ndim are not cleared: that cost more than a small call's kernel. */
static void view_of(view *v, const gb_gu_call *call, int i) {
    const gb_gu_operand *o = &call->op[i];
    v->ndim = call->ndim + o->core_ndim;
    for (int d = 0; d < call->ndim; d++) {
        v->shape[d] = call->shape[d];
        v->strides[d] = o->strides[d];
    }
    for (int d = 0; d < o->core_ndim; d++) {
        v->shape[call->ndim + d] = o->core_shape[d];
        v->strides[call->ndim + d] = o->core_strides[d];
    }
}

static int same_view(const gb_gu_run *job, int i, const view *a, int j, const view *b) {
    const gb_gu_operand *p = &job->call->op[i], *q = &job->call->op[j];
    if (job->data[i] != job->data[j] || p->from != q->from || p->swapped != q->swapped ||
        a->ndim != b->ndim)
        return 0;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d] || (a->shape[d] > 1 && a->strides[d] != b->strides[d]))
            return 0;
    return 1;
}

/* Copy the elements of a view; both sides have its strides. */
static void copy_elements(char *to, const char *from, const view *v, int d, int64_t item) {
    if (d == v->ndim) {
        memcpy(to, from, (size_t)item);
        return;
    }
    for (int64_t k = 0; k < v->shape[d]; k++)
        copy_elements(to + k * v->strides[d], from + k * v->strides[d], v, d + 1, item);
}

/* Copy the part of an input whose memory lies in [low, high): whole steps of the
 * outermost loop, into room where every element has the place it has in memory. */
__attribute__((cold, noinline)) static int copy_input(gb_gu_run *job, int i, view *v, int64_t item,
                                                      intptr_t low, intptr_t high, gb_error *e) {
    const gb_gu_call *call = job->call;
    gb_gu_input_copy *s = gb_gu_run_copy(job, i);
    intptr_t from, to;
    gb_extent(job->data[i], v->shape + 1, v->strides + 1, v->ndim - 1, item, &from, &to);
    int64_t first = 0, last = call->shape[0] - 1, stride = v->strides[0];
    if (stride > 0) { /* the first step that ends above low, the last that starts below high */
        if (to <= low) first = (low - to) / stride + 1;
        if (from + last * stride >= high) last = (high - 1 - from) / stride;
    } else if (stride < 0) {
        if (from >= high) first = (from - high) / -stride + 1;
        if (to + last * stride <= low) last = (to - low - 1) / -stride;
    }
    if (first > last) return 0;
    int64_t inner = call->n / call->shape[0];
    if (s->block) { /* another output overlaps too: start again with both parts */
        if (s->from / inner < first) first = s->from / inner;
        if (s->to / inner - 1 > last) last = s->to / inner - 1;
        gb_heap_release(s->block);
    }
    intptr_t a = from + (stride < 0 ? last : first) * stride,
             z = to + (stride < 0 ? first : last) * stride;
    s->block = gb_gu_take_room(z - a, e);
    if (!s->block) {
        s->base = NULL;
        return -1;
    }
    s->base = (char *)s->block + (job->data[i] - (char *)a);
    s->from = first * inner;
    s->to = (last + 1) * inner;
    int64_t elements = (last - first + 1) * item;
    for (int d = 1; d < v->ndim; d++) elements *= v->strides[d] ? v->shape[d] : 1;
    if (elements < (z - a) / 4) {
        v->shape[0] = last - first + 1;
        copy_elements(s->base + first * stride, job->data[i] + first * stride, v, 0, item);
    } else {
        memcpy(s->block, (const char *)a, (size_t)(z - a));
    }
    return 0;
}

int gb_gu_protect_inputs(gb_gu_run *job, gb_error *e) {
    const gb_gu_call *call = job->call;
    int boundaries = protect_boundaries(job, e);
    if (boundaries) return boundaries < 0 ? -1 : 0;
    for (int o = call->nin; o < call->nop; o++) {
        if (call->flags & GB_GU_NEW_OUTPUTS && call->out[o]) continue; /* memory of its own */
        view out, in;
        view_of(&out, call, o);
        intptr_t low, high;
        int64_t item = call->op[o].item;
        if (!gb_extent(job->data[o], out.shape, out.strides, out.ndim, item, &low, &high)) continue;
        if (gb_gu_self_overlap(out.shape, out.strides, out.ndim, item))
            return gb_refuse(e, GB_VALUE_ERROR,
                             "out: elements of an output share memory (a zero or sliding stride); "
                             "give one with memory of its own for each");
        for (int p = call->nin; p < o; p++) {
            view other;
            view_of(&other, call, p);
            if (gb_gu_views_overlap(job->data[o], out.shape, out.strides, out.ndim, item,
                                    job->data[p], other.shape, other.strides, other.ndim,
                                    call->op[p].item))
                return gb_refuse(e, GB_VALUE_ERROR,
                                 "out: two outputs share memory; give each its own");
        }
        for (int i = 0; i < call->nin; i++) {
            intptr_t in_low, in_high;
            view_of(&in, call, i);
            if (!gb_extent(job->data[i], in.shape, in.strides, in.ndim, call->op[i].item, &in_low,
                           &in_high))
                continue;
            if (in_high <= low || high <= in_low) continue;
            if (same_view(job, i, &in, o, &out)) {
                job->in_place = 1;
                /* In place: an element with a core is read while it is written, and a failed block
                 * is run twice. */
                if (call->op[i].core_ndim || !job->ignore_errors) job->staged |= 1u << i;
                continue;
            }
            if (!gb_gu_views_overlap(job->data[i], in.shape, in.strides, in.ndim, call->op[i].item,
                                     job->data[o], out.shape, out.strides, out.ndim, item))
                continue;
            if (copy_input(job, i, &in, call->op[i].item, low, high, e) < 0) return -1;
        }
        if (call->flags & GB_GU_WHERE) {
            view mask = {call->ndim, {0}, {0}};
            memcpy(mask.shape, call->shape, sizeof call->shape);
            memcpy(mask.strides, call->where_strides, sizeof call->where_strides);
            if (gb_gu_views_overlap(job->data[call->nop], mask.shape, mask.strides, mask.ndim, 1,
                                    job->data[o], out.shape, out.strides, out.ndim, item) &&
                copy_input(job, call->nop, &mask, 1, low, high, e) < 0)
                return -1;
        }
    }
    return 0;
}
