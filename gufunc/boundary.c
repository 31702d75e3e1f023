/* boundary.c: inputs and an output that are neighbouring views of the same memory, as in
 * f(v[:-1], out=v[1:]). Blocks are read into scratch memory before they are written, so
 * only what other blocks overwrite needs a copy beforehand: the boundary of each block,
 * as wide as the views are apart. This is for kernels that are cut into chunks; where
 * others are cut is not known beforehand.
 */
#include "call.h"
#include "cast.h"

#define WIDEST                                                                         \
    4 /* a boundary is at most 1/4 of a block; wider ones cost as much as a whole copy \
       */

static int64_t blocks_per_chunk(const gb_gu_call *call) {
    return (call->chunk + call->block - 1) / call->block;
}

/* Does the memory of input i meet that of the output at all? */
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

int gb_gu_protect_boundaries(gb_gu_run *job, gb_error *e) {
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
