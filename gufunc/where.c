/* where.c: calls with a mask. A pure kernel without core dimensions runs on every
 * element and the results are blended in; any other sees selected elements only. */
#include "call.h"
#include "cast.h"

#ifndef __clang__
#pragma GCC optimize("O3") /* the loops over masks are vectors */
#endif

/* How many of n bytes that are 0 or 1 are 1: eight sums in a word, added up before one overflows.
 */
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

void gb_gu_select(gb_gu_block *b) {
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

void gb_gu_compress(gb_gu_block *b) {
    const gb_gu_call *call = b->job->call;
    for (int i = 0; i < call->nin; i++) {
        int64_t bytes = gb_gu_packed_bytes(&call->op[i]);
        char *base = b->scratch + call->op[i].at;
        for (int64_t k = 0; k < b->n; k++)
            if (b->picked[k] != k)
                memcpy(base + k * bytes, base + b->picked[k] * bytes, (size_t)bytes);
    }
}

void gb_gu_scatter_picked(gb_gu_block *b) {
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

/* A bit select: written as a choice it becomes a branch for every element. */
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

void gb_gu_scatter_blended(gb_gu_block *b) {
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
