/* stage.c: what every part of the engine stands on: moving along the loops, operands into
 * scratch memory and out of it, and memory for copies. */
#include "call.h"
#include "cast.h"

int64_t gb_packed_bytes(const gb_operand *o) { return o->core_items * o->kernel_item; }

void gb_cursor_advance(const gb_call *call, gb_cursor *c, int64_t len) {
    int d = call->ndim - 1;
    c->index[d] += len;
    for (int i = 0; i < call->nop; i++) c->ptr[i] += len * call->op[i].strides[d];
    if (call->flags & GB_WHERE) c->ptr[call->nop] += len * call->where_strides[d];
    while (d > 0 && c->index[d] >= call->shape[d]) {   /* a block may span several inner loops */
        int64_t n = c->index[d] == call->shape[d] ? 1 : c->index[d] / call->shape[d];
        c->index[d] -= n * call->shape[d];
        c->index[d - 1] += n;
        for (int i = 0; i < call->nop; i++)
            c->ptr[i] += n * (call->op[i].strides[d - 1] - call->shape[d] * call->op[i].strides[d]);
        if (call->flags & GB_WHERE)
            c->ptr[call->nop] += n * (call->where_strides[d - 1] - call->shape[d] * call->where_strides[d]);
        d--;
    }
}

void gb_stage_in(gb_block *b, int op, const char *from, int64_t first, int64_t len) {
    const gb_call *call = b->job->call;
    const gb_operand *o = &call->op[op];
    gb_pack(b->scratch + o->at + first * gb_packed_bytes(o), o, from, o->strides[call->ndim - 1], len);
}

void gb_stage_out(gb_block *b, int op, char *to, int64_t first, int64_t len) {
    const gb_call *call = b->job->call;
    const gb_operand *o = &call->op[op];
    gb_unpack(to, o->strides[call->ndim - 1], o, b->scratch + o->at + first * gb_packed_bytes(o), len);
}

void *gb_take_room(int64_t bytes) {
    gb_want want = {.span = bytes, .boundary = GB_BLOCK_ALIGN};
    want.reserve = gb_reserve(want.span, want.boundary);
    void *room;
    int fresh, got;
    while ((got = gb_take(&want, &room, &fresh)) == GB_NEED_SLAB)
        if (gb_refill(want.reserve) < 0) break;
    return got == GB_TAKEN ? room : NULL;
}
