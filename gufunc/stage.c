/* stage.c: what every part of the engine stands on: moving along the loops, operands into
 * scratch memory and out of it, and memory for copies. */
#include "call.h"
#include "cast.h"

int64_t gb_gu_packed_bytes(const gb_gu_operand *o) { return o->core_items * o->kernel_item; }

void gb_gu_cursor_advance(const gb_gu_call *call, gb_gu_cursor *c, int64_t len) {
    int d = call->ndim - 1;
    c->index[d] += len;
    for (int i = 0; i < call->nop; i++) c->ptr[i] += len * call->op[i].strides[d];
    if (call->flags & GB_GU_WHERE) c->ptr[call->nop] += len * call->where_strides[d];
    while (d > 0 && c->index[d] >= call->shape[d]) { /* a block may span several inner loops */
        int64_t n = c->index[d] == call->shape[d] ? 1 : c->index[d] / call->shape[d];
        c->index[d] -= n * call->shape[d];
        c->index[d - 1] += n;
        for (int i = 0; i < call->nop; i++)
            c->ptr[i] += n * (call->op[i].strides[d - 1] - call->shape[d] * call->op[i].strides[d]);
        if (call->flags & GB_GU_WHERE)
            c->ptr[call->nop] +=
                n * (call->where_strides[d - 1] - call->shape[d] * call->where_strides[d]);
        d--;
    }
}

void gb_gu_stage_in(gb_gu_block *b, int op, const char *from, int64_t first, int64_t rows,
                    int64_t len) {
    const gb_gu_operand *o = &b->job->call->op[op];
    int d = b->job->call->ndim - 1;
    gb_gu_pack_rows(b->scratch + o->at + first * gb_gu_packed_bytes(o), o, from,
                    d ? o->strides[d - 1] : 0, rows, o->strides[d], len);
}

void gb_gu_stage_out(gb_gu_block *b, int op, char *to, int64_t first, int64_t rows, int64_t len) {
    const gb_gu_operand *o = &b->job->call->op[op];
    int d = b->job->call->ndim - 1;
    gb_gu_unpack_rows(to, o, b->scratch + o->at + first * gb_gu_packed_bytes(o),
                      d ? o->strides[d - 1] : 0, rows, o->strides[d], len);
}

void *gb_gu_take_room(int64_t bytes, gb_error *e) {
    gb_heap_layout want = {.span = bytes, .boundary = GB_HEAP_BLOCK_ALIGN};
    want.reserve = gb_heap_reserve(want.span, want.boundary);
    void *room;
    int fresh, got;
    while ((got = gb_heap_take(&want, &room, &fresh)) == GB_HEAP_NEED_SLAB)
        if (gb_heap_refill(want.reserve) < 0) break;
    if (got == GB_HEAP_TAKEN) return room;
    gb_refuse(e, GB_MEMORY_ERROR, "no memory left to copy the inputs that the outputs overlap");
    return NULL;
}

gb_gu_input_copy *gb_gu_run_copy(gb_gu_run *job, int i) {
    if (!(job->copies >> i & 1)) job->copied[i] = (gb_gu_input_copy){0};
    job->copies |= 1u << i;
    return &job->copied[i];
}
