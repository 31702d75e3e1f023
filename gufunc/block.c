/* block.c: a worker's block of elements: operands, mask, kernel call, failures. */
#include "call.h"
#include "cast.h"
#include "fpstate.h"

/* ---- masks ----
 *
 * A pure kernel without core dimensions runs on every element, and its results are blended in; any
 * other kernel is called for selected elements only. */

#ifndef __clang__ /* gcc -O2 vectorizes no loops of unknown length */
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif

/* Counts the ones among n bytes of 0 or 1: eight sums in a word, added up before one overflows. */
static int64_t ones(const uint8_t *select, int64_t n) {
    int64_t count = 0, k = 0;
    while (n - k >= 8) {
        uint64_t sums = 0, word;
        for (int64_t last = n - k > 255 * 8 ? k + 255 * 8 : n; last - k >= 8; k += 8) {
            memcpy(&word, select + k, 8);
            sums += word;
        }
        sums = (sums & 0x00ff00ff00ff00ff) + (sums >> 8 & 0x00ff00ff00ff00ff);
        count += (int64_t)(sums * 0x0001000100010001 >> 48);
    }
    for (; k < n; k++) count += select[k];
    return count;
}

static void read_mask(uint8_t *to, const uint8_t *from, int64_t step, int64_t n) {
    if (step == 1)
        for (int64_t k = 0; k < n; k++) to[k] = from[k] != 0;
    else
        for (int64_t k = 0; k < n; k++) to[k] = from[k * step] != 0;
}

static void read_selection(gb_gu_block *b) {
    const gb_gu_call *call = b->job->call;
    gb_gu_cursor walk = b->here;
    int d = call->ndim - 1;
    for (int64_t first = 0, run; first < b->len; first += run) {
        run = gb_gu_run_length(call, &walk, b->len - first);
        read_mask(b->select + first, (const uint8_t *)walk.ptr[call->nop], call->where_strides[d],
                  run);
        if (first + run < b->len) gb_gu_cursor_advance(call, &walk, run);
    }
    int64_t count = ones(b->select, b->len);
    __atomic_fetch_add(&b->job->nselected, count, __ATOMIC_RELAXED);
    if (count == b->len) return;
    b->mode = !count ? GB_GU_NONE : call->flags & GB_GU_PURE ? GB_GU_BLENDED : GB_GU_PICKED;
    if (b->mode != GB_GU_PICKED) return;
    b->n = 0;
    for (int64_t k = 0; k < b->len; k++) {
        b->picked[b->n] = (int32_t)k;
        b->n += b->select[k];
    }
}

static void compress(gb_gu_block *b) {
    const gb_gu_call *call = b->job->call;
    for (int i = 0; i < call->nin; i++) {
        int64_t bytes = gb_gu_packed_bytes(&call->op[i]);
        char *base = b->scratch + call->op[i].at;
        for (int64_t k = 0; k < b->n; k++)
            if (b->picked[k] != k)
                memcpy(base + k * bytes, base + b->picked[k] * bytes, (size_t)bytes);
    }
}

static void scatter_picked(gb_gu_block *b) {
    const gb_gu_call *call = b->job->call;
    gb_gu_cursor walk = b->here;
    int64_t at = 0;
    for (int64_t k = 0; k < b->n; k++) {
        while (at < b->picked[k]) {
            int64_t run = gb_gu_run_length(call, &walk, b->picked[k] - at);
            gb_gu_cursor_advance(call, &walk, run);
            at += run;
        }
        for (int i = call->nin; i < call->nop; i++) gb_gu_stage_out(b, i, walk.ptr[i], k, 1, 1);
    }
}

/* A bit select: a conditional would compile to a branch for every element. */
#define BLEND(type)                                                                           \
    static void blend_##type(char *out, intptr_t step, const char *in, const uint8_t *select, \
                             int64_t n) {                                                     \
        if (step == sizeof(type)) {                                                           \
            type *o = (type *)out;                                                            \
            const type *v = (const type *)in;                                                 \
            for (int64_t k = 0; k < n; k++) {                                                 \
                type m = (type)(0 - (type)select[k]);                                         \
                o[k] = (type)((o[k] & (type)~m) | (v[k] & m));                                \
            }                                                                                 \
            return;                                                                           \
        }                                                                                     \
        for (int64_t k = 0; k < n; k++, out += step)                                          \
            if (select[k]) memcpy(out, in + k * (intptr_t)sizeof(type), sizeof(type));        \
    }
BLEND(uint8_t)
BLEND(uint16_t)
BLEND(uint32_t)
BLEND(uint64_t)

static void blend(char *out, intptr_t step, const char *in, int64_t item, const uint8_t *select,
                  int64_t n) {
    int aligned = ((uintptr_t)out % (uintptr_t)item) == 0;
    if (aligned && item == 1) blend_uint8_t(out, step, in, select, n);
    else if (aligned && item == 2) blend_uint16_t(out, step, in, select, n);
    else if (aligned && item == 4) blend_uint32_t(out, step, in, select, n);
    else if (aligned && item == 8) blend_uint64_t(out, step, in, select, n);
    else
        for (int64_t k = 0; k < n; k++)
            if (select[k]) memcpy(out + k * step, in + k * item, (size_t)item);
}

static void scatter_blended(gb_gu_block *b) {
    const gb_gu_call *call = b->job->call;
    int d = call->ndim - 1;
    gb_gu_cursor walk = b->here;
    for (int64_t first = 0, run; first < b->len; first += run) {
        run = gb_gu_run_length(call, &walk, b->len - first);
        for (int i = call->nin; i < call->nop; i++) {
            const gb_gu_operand *o = &call->op[i];
            if (o->from == o->to && !o->swapped)
                blend(walk.ptr[i], o->strides[d], b->scratch + o->at + first * o->item, o->item,
                      b->select + first, run);
            else
                for (int64_t k = 0; k < run; k++)
                    if (b->select[first + k])
                        gb_gu_stage_out(b, i, walk.ptr[i] + k * o->strides[d], first + k, 1, 1);
        }
        if (first + run < b->len) gb_gu_cursor_advance(call, &walk, run);
    }
}

#ifndef __clang__
#pragma GCC pop_options
#endif

/* ---- failed elements ----
 *
 * A block whose kernel raised a flag is run again one element at a time. Where no element raises
 * it, the flag came from an unused vector lane. */

uint8_t *gb_gu_codes(uint8_t **at, int64_t n, int32_t *no_memory) {
    uint8_t *codes = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    uint8_t *fresh;
    if (codes) return codes;
    fresh = calloc((size_t)n, 1);
    if (!fresh) {
        __atomic_store_n(no_memory, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    if (__atomic_compare_exchange_n(at, &codes, fresh, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    free(fresh);
    return codes;
}

static void record(gb_gu_block *b, int64_t k, uint8_t code) {
    uint8_t *codes = gb_gu_codes(&b->job->codes, b->job->call->n, &b->job->no_memory);
    if (!codes) return;
    uint8_t *c = &codes[b->at + (b->mode == GB_GU_PICKED ? b->picked[k] : k)];
    if (!*c) __atomic_fetch_add(&b->job->nfailed, 1, __ATOMIC_RELAXED);
    *c |= code;
}

int gb_gu_raised(const gb_gu_call *call) { return gb_gu_fp_flags() & call->fp_mask; }

/* Converts one element of the inputs again, for the flags that this raises. */
static void cast_again(gb_gu_block *b, const gb_gu_cursor *walk, int64_t k) {
    const gb_gu_call *call = b->job->call;
    for (int i = 0; i < call->nin; i++)
        if (b->job->staged >> i & 1 && call->op[i].from != call->op[i].to)
            gb_gu_stage_in(b, i, walk->ptr[i], k, 1, 1);
}

/* Converts one element of the results again. */
static void cast_back(gb_gu_block *b, const gb_gu_cursor *walk, int64_t k) {
    const gb_gu_call *call = b->job->call;
    for (int i = call->nin; i < call->nop; i++)
        if (b->job->staged >> i & 1) gb_gu_stage_out(b, i, walk->ptr[i], k, 1, 1);
}

static void run_one(gb_gu_block *b, int64_t k, uint8_t *status) {
    const gb_gu_call *call = b->job->call;
    char *args[GB_GU_MAXARGS];
    for (int i = 0; i < call->nop; i++) args[i] = b->args[i] + k * b->steps[i];
    b->dims[0] = 1;
    if (call->form == GB_GU_NUMPY_LOOP)
        ((gb_gu_numpy_loop)call->function)(args, b->dims, b->steps, b->job->loop_data);
    else ((gb_gu_status_loop)call->function)(args, b->dims, b->steps, b->job->loop_data, status);
}

/* Runs element by element: the kernel again, or only the conversion of its results. */
static void run_each(gb_gu_block *b, int outputs) {
    const gb_gu_call *call = b->job->call;
    gb_gu_cursor walk = b->here;
    int64_t k = 0;
    for (int64_t e = 0; e < b->len; e++) {
        if (b->mode == GB_GU_ALL || b->select[e]) {
            int64_t at = b->mode == GB_GU_PICKED ? k : e;
            uint8_t status = 0;
            gb_gu_fp_clear();
            if (outputs) cast_back(b, &walk, at);
            else if (b->cast_flags) cast_again(b, &walk, at);
            if (!outputs) run_one(b, at, &status);
            int code = gb_gu_raised(call) | (status ? GB_GU_STATUS : 0);
            if (code) record(b, at, (uint8_t)code);
            k++;
        }
        if (e + 1 < b->len && (outputs || b->cast_flags)) gb_gu_cursor_advance(call, &walk, 1);
    }
    b->dims[0] = b->n;
}

static uint8_t code_of(const gb_gu_call *call, uint8_t status) {
    if (status == GB_GU_PANICKED && call->form == GB_GU_GO_LOOP) return GB_GU_PANICKED;
    return GB_GU_STATUS;
}

/* Mark elements that raised flags. */
static void check_fp_errors(gb_gu_block *b) {
    gb_gu_run *job = b->job;
    const gb_gu_call *call = job->call;
    if (!job->ignore_errors) {
        if (call->form != GB_GU_GO_LOOP && gb_gu_raised(call)) {
            run_each(b, 0);
        } else {
            for (int64_t k = 0; b->nfailed && k < b->n; k++)
                if (b->status[k] && (b->mode != GB_GU_BLENDED || b->select[k]))
                    record(b, k, code_of(call, b->status[k]));
        }
    }
    gb_gu_fp_clear();
}

/* Mark results that did not fit: converting them to memory raised a flag, so each is converted
 * alone. */
static void check_outputs(gb_gu_block *b) {
    if (!b->job->ignore_errors) run_each(b, 1);
    gb_gu_fp_clear();
}

/* ---- blocks of a piece ---- */

/* Moves to a linear index, and finds how far the operands keep their memory. */
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
        seek(b, p->at); /* often the piece begins where the last one ended */
    b->at = p->at;
    b->end = p->end;
}

/* The number of whole inner loops from here to the end of the block or of the loop around them; 1
 * also where the block ends within the first. */
static int64_t rows_from(const gb_gu_call *call, const gb_gu_cursor *c, int64_t run, int64_t most) {
    int d = call->ndim - 1;
    if (d == 0 || run < call->shape[d] || most < 2 * run) return 1;
    int64_t left = call->shape[d - 1] - c->index[d - 1];
    return most / run < left ? most / run : left;
}

/* Stages operands [from, to), rows at a time. */
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
        b->len = most;
        b->n = most;
        b->mode = GB_GU_ALL;
        b->nfailed = 0;
        b->cast_flags = 0;
        if (call->flags & GB_GU_WHERE) read_selection(b);
        if (b->mode != GB_GU_NONE) break;
        gb_gu_cursor_advance(call, &b->here, b->len);
        b->at += b->len;
    }
    for (int i = 0; i < call->nop; i++)
        if (!(job->staged >> i & 1)) b->args[i] = b->here.ptr[i];
    if (job->staged) {
        stage(b, 0, call->nin);
        if (b->mode == GB_GU_PICKED) compress(b);
        b->cast_flags = gb_gu_raised(call);
    }
    b->dims[0] = b->n;
    if (call->form != GB_GU_NUMPY_LOOP) memset(b->status, 0, (size_t)b->n);
    return 1;
}

void gb_gu_block_call(gb_gu_block *b) {
    const gb_gu_call *call = b->job->call;
    char *args[GB_GU_MAXARGS]; /* a copy: some loops advance them in place */
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

/* After the kernel: records failures, stores results, moves to the next block. */
void gb_gu_block_done(gb_gu_block *b) {
    gb_gu_run *job = b->job;
    const gb_gu_call *call = job->call;
    if (b->nfailed || gb_gu_raised(call)) check_fp_errors(b);
    if (b->mode == GB_GU_BLENDED) scatter_blended(b);
    else if (b->mode == GB_GU_PICKED) scatter_picked(b);
    else if (job->staged >> call->nin) stage(b, call->nin, call->nop);
    if (call->flags & GB_GU_CASTS_OUT && gb_gu_raised(call)) check_outputs(b);
    b->at += b->len;
    if (b->at < job->n) gb_gu_cursor_advance(call, &b->here, b->len);
}
