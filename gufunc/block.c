/* block.c: a worker's way through a piece: find the next stretch of elements, bring
 * the operands into the form the kernel wants, hand the results over. */
#include "call.h"
#include "cast.h"
#include "fpstate.h"

/* Go to a linear index, and find how far the operands' memory stays the same. */
static void seek(gb_gu_block *b, int64_t at) {
    const gb_gu_run *job = b->job;
    const gb_gu_call *call = job->call;
    int64_t rest = at;
    int with_mask = call->flags & GB_GU_WHERE ? 1 : 0;
    b->limit = INT64_MAX;
    if (at == 0 && !job->copies) {
        for (int d = 0; d < call->ndim; d++) b->here.index[d] = 0;
        for (int i = 0; i < call->nop + with_mask; i++) b->here.ptr[i] = job->data[i];
        return;
    }
    for (int d = call->ndim - 1; d >= 0; d--) {
        b->here.index[d] = d ? rest % call->shape[d] : rest;
        rest /= call->shape[d];
    }
    for (int i = 0; i < call->nop + with_mask; i++) {
        const gb_gu_input_copy *s = job->copies >> i & 1 ? &job->copied[i] : NULL;
        const int64_t *strides = i < call->nop ? call->op[i].strides : call->where_strides;
        char *p = job->data[i];
        if (s && s->base && at < s->from) {
            b->limit = s->from < b->limit ? s->from : b->limit;
        } else if (s && s->base && at < s->to) {
            p = s->base;
            b->limit = s->to < b->limit ? s->to : b->limit;
        }
        for (int d = 0; d < call->ndim; d++) p += b->here.index[d] * strides[d];
        b->here.ptr[i] = p;
    }
}

void gb_gu_block_start(gb_gu_block *b, gb_gu_run *job, char *scratch) {
    const gb_gu_call *call = job->call;
    b->job = job;
    b->at = -1;
    b->scratch = scratch;
    b->status = (uint8_t *)scratch + call->status_at;
    b->select = (uint8_t *)scratch + call->select_at;
    b->picked = (int32_t *)(scratch + call->picked_at);
    for (int d = 0; d < call->ncore; d++) b->dims[1 + d] = call->core[d];
    intptr_t *core = b->steps + call->nop;
    for (int i = 0; i < call->nop; i++) {
        const gb_gu_operand *o = &call->op[i];
        int staged = job->staged >> i & 1;
        b->steps[i] = staged ? gb_gu_packed_bytes(o) : o->strides[call->ndim - 1];
        for (int d = 0; d < o->core_ndim; d++) *core++ = staged ? o->packed[d] : o->core_strides[d];
        if (staged) b->args[i] = scratch + o->at;
    }
}

void gb_gu_block_piece(gb_gu_block *b, const gb_gu_piece *p) {
    if (p->at != b->at || p->at == 0)
        seek(b, p->at); /* often it goes on where the last one ended */
    b->at = p->at;
    b->end = p->end;
}

/* How many inner loops, whole ones, the block has from here on in the loop around them; 1 also
 * where it ends within the first. */
static int64_t rows_from(const gb_gu_call *call, const gb_gu_cursor *c, int64_t run, int64_t most) {
    int d = call->ndim - 1;
    if (d == 0 || run < call->shape[d] || most < 2 * run) return 1;
    int64_t left = call->shape[d - 1] - c->index[d - 1];
    return most / run < left ? most / run : left;
}

/* Every staged operand from one to another, rows at a time. */
static void stage(gb_gu_block *b, int from, int to) {
    const gb_gu_call *call = b->job->call;
    gb_gu_cursor walk = b->here;
    for (int64_t first = 0, rows, run; first < b->len; first += rows * run) {
        run = gb_gu_run_length(call, &walk, b->len - first);
        rows = rows_from(call, &walk, run, b->len - first);
        for (int i = from; i < to; i++) {
            if (!(b->job->staged >> i & 1)) continue;
            if (i >= call->nin) gb_gu_stage_out(b, i, walk.ptr[i], first, rows, run);
            else if (b->job->copies >> i & 1 && b->job->copied[i].boundary)
                gb_gu_stage_boundary(b, i, walk.ptr[i], run);
            else gb_gu_stage_in(b, i, walk.ptr[i], first, rows, run);
        }
        if (first + rows * run < b->len) gb_gu_cursor_advance(call, &walk, rows * run);
    }
}

int gb_gu_block_next(gb_gu_block *b) {
    gb_gu_run *job = b->job;
    const gb_gu_call *call = job->call;
    for (;;) {
        if (b->at == b->end) return 0;
        if (b->at == b->limit) seek(b, b->at);
        int64_t most = (b->end < b->limit ? b->end : b->limit) - b->at;
        if (!(call->flags & GB_GU_GATHER)) most = gb_gu_run_length(call, &b->here, most);
        if (job->staged || call->flags & GB_GU_WHERE || call->form != GB_GU_NUMPY_LOOP)
            most = most < call->block ? most : call->block;
        b->len = b->n = most;
        b->mode = GB_GU_ALL;
        b->nfailed = 0;
        b->cast_flags = 0;
        if (call->flags & GB_GU_WHERE) gb_gu_select(b);
        if (b->mode != GB_GU_NONE) break;
        gb_gu_cursor_advance(call, &b->here, b->len);
        b->at += b->len;
    }
    for (int i = 0; i < call->nop; i++)
        if (!(job->staged >> i & 1)) b->args[i] = b->here.ptr[i];
    if (job->staged) {
        stage(b, 0, call->nin);
        if (b->mode == GB_GU_PICKED) gb_gu_compress(b);
        b->cast_flags = gb_gu_raised(call);
    }
    b->dims[0] = b->n;
    if (call->form != GB_GU_NUMPY_LOOP) memset(b->status, 0, (size_t)b->n);
    return 1;
}

void gb_gu_block_call(gb_gu_block *b) {
    const gb_gu_call *call = b->job->call;
    char *args[GB_GU_MAXARGS]; /* some loops advance them in place */
    memcpy(args, b->args, (size_t)call->nop * sizeof *args);
    if (call->form == GB_GU_NUMPY_LOOP)
        ((gb_gu_numpy_loop)call->function)(args, b->dims, b->steps, b->job->loop_data);
    else if (call->form == GB_GU_STATUS_LOOP)
        b->nfailed = ((gb_gu_status_loop)call->function)(args, b->dims, b->steps, b->job->loop_data,
                                                         b->status);
    else
        b->nfailed =
            ((gb_gu_status_loop)call->function)(args, b->dims, b->steps, (void *)call, b->status);
}

/* After the kernel: failures, results, and on to the next block. */
void gb_gu_block_done(gb_gu_block *b) {
    gb_gu_run *job = b->job;
    const gb_gu_call *call = job->call;
    if (b->nfailed || gb_gu_raised(call)) gb_gu_check_fp_errors(b);
    if (b->mode == GB_GU_BLENDED) gb_gu_scatter_blended(b);
    else if (b->mode == GB_GU_PICKED) gb_gu_scatter_picked(b);
    else if (job->staged >> call->nin) stage(b, call->nin, call->nop);
    if (call->flags & GB_GU_CASTS_OUT && gb_gu_raised(call)) gb_gu_check_outputs(b);
    b->at += b->len;
    if (b->at < job->n) gb_gu_cursor_advance(call, &b->here, b->len);
}
