/* cast.c: elements between memory and scratch memory: converted, swapped, packed, staged; and the
 * cursor that moves along the loops. */
#include "cast.h"
#include "call.h"

#include "../alloc/strides.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

/* ---- conversion ---- */

#ifdef __x86_64__

/* Some versions of clang reject "f16c" in __builtin_cpu_supports. */
static int has_f16c(void) {
    unsigned a, b, c = 0, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

/* The loops of cast_body.h for this machine: [to][from]. AVX2 has no conversion from int64, and its
 * emulation is slower than scalar code. */
static gb_gu_cast_loop table[GB_REALS][GB_REALS];

__attribute__((constructor)) static void choose(void) {
    memcpy(table, gb_gu_casts_base, sizeof table);
#ifdef __x86_64__
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !has_f16c()) return;
    for (int to = 0; to < GB_REALS; to++)
        for (int from = 0; from < GB_REALS; from++)
            if (gb_gu_casts_avx2[to][from] && from != GB_I64)
                table[to][from] = gb_gu_casts_avx2[to][from];
#endif
}

static void move(char *dst, intptr_t dst_step, const char *src, intptr_t src_step, int64_t item,
                 int64_t n) {
    if (dst_step == item && src_step == item) memcpy(dst, src, (size_t)(item * n));
    else gb_move_strided(dst, dst_step, src, src_step, n, item);
}

static int real_of(int type) {
    return type == GB_DATETIME || type == GB_TIMEDELTA ? GB_I64 : gb_type_real(type);
}

/* A complex number is true when either part is. */
static void complex_truth(char *dst, intptr_t dst_step, int from, const char *src,
                          intptr_t src_step, int64_t n) {
    for (int64_t i = 0; i < n; i++, dst += dst_step, src += src_step) {
        uint8_t part[2];
        gb_gu_cast(GB_BOOL, (char *)part, 1, real_of(from), src, gb_type_size(real_of(from)), 2);
        *dst = (char)(part[0] | part[1]);
    }
}

void gb_gu_cast(int to, char *dst, intptr_t dst_step, int from, const char *src, intptr_t src_step,
                int64_t n) {
    int to_real = to, from_real = from;
    if (to != from) {
        to_real = real_of(to);
        from_real = real_of(from);
    }
    if (to == from ||
        (to_real == from_real && !gb_type_is_complex(to) && !gb_type_is_complex(from))) {
        move(dst, dst_step, src, src_step, gb_type_size(to), n);
        return;
    }
    if (to == GB_BOOL && gb_type_is_complex(from)) {
        complex_truth(dst, dst_step, from, src, src_step, n);
        return;
    }
    if (to_real == from_real) move(dst, dst_step, src, src_step, gb_type_size(to_real), n);
    else table[to_real][from_real](dst, dst_step, src, src_step, n);
    if (!gb_type_is_complex(to)) return; /* the imaginary part is dropped, as NumPy does */
    dst += gb_type_size(to_real);
    if (gb_type_is_complex(from)) {
        gb_gu_cast(to_real, dst, dst_step, from_real, src + gb_type_size(from_real), src_step, n);
        return;
    }
    for (int64_t i = 0; i < n; i++, dst += dst_step) memset(dst, 0, gb_type_size(to_real));
}

/* ---- byte order ---- */

static void swap_items(char *p, intptr_t step, int64_t item, int64_t n) {
    for (int64_t i = 0; i < n; i++, p += step)
        for (int64_t a = 0, z = item - 1; a < z; a++, z--) {
            char t = p[a];
            p[a] = p[z];
            p[z] = t;
        }
}

#define SWAP_ITEMS 256

/* As gb_gu_cast; the memory side has the other byte order. */
static void cast_swapped(int to, char *dst, intptr_t dst_step, int from, const char *src,
                         intptr_t src_step, int64_t n, int memory_is_src) {
    _Alignas(16) char room[SWAP_ITEMS * 2 * sizeof(long double)];
    int type = memory_is_src ? from : to;
    int64_t item = gb_type_size(type), part = gb_type_size(real_of(type)), per = item / part;
    while (n > 0) {
        int64_t k = n < SWAP_ITEMS ? n : SWAP_ITEMS;
        if (memory_is_src) {
            move(room, item, src, src_step, item, k);
            swap_items(room, part, part, k * per);
            gb_gu_cast(to, dst, dst_step, from, room, item, k);
        } else {
            gb_gu_cast(to, room, item, from, src, src_step, k);
            swap_items(room, part, part, k * per);
            move(dst, dst_step, room, item, item, k);
        }
        dst += k * dst_step;
        src += k * src_step;
        n -= k;
    }
}

/* ---- elements with a core ---- */

#define ENOUGH 8 /* elements */

typedef struct axis {
    int64_t n, memory, packed;
} axis;

/* Appends an inner axis to n axes, joined with the last one where both sides step alike. */
static int add_axis(axis *a, int n, axis next) {
    axis *last = &a[n - 1];
    if (next.n == 1) return n;
    if (last->n != 1 &&
        (last->memory != next.n * next.memory || last->packed != next.n * next.packed)) {
        a[n] = next;
        return n + 1;
    }
    next.n *= last->n;
    *last = next;
    return n;
}

/* Makes the longest axis the inner loop, unless the inner loop is contiguous and long enough. */
static void longest_last(axis *a, int n, const gb_gu_operand *o) {
    int longest = n - 1;
    if (a[longest].n >= ENOUGH && a[longest].memory == o->item &&
        a[longest].packed == o->kernel_item)
        return;
    for (int i = 0; i < n; i++)
        if (a[i].n > a[longest].n) longest = i;
    axis t = a[longest];
    a[longest] = a[n - 1];
    a[n - 1] = t;
}

static void transfer(char *memory, char *packed, const gb_gu_operand *o, const axis *a, int n,
                     int in) {
    if (n > 1) {
        for (int64_t i = 0; i < a->n; i++)
            transfer(memory + i * a->memory, packed + i * a->packed, o, a + 1, n - 1, in);
        return;
    }
    if (in && o->swapped)
        cast_swapped(o->to, packed, a->packed, o->from, memory, a->memory, a->n, 1);
    else if (in) gb_gu_cast(o->to, packed, a->packed, o->from, memory, a->memory, a->n);
    else if (o->swapped)
        cast_swapped(o->from, memory, a->memory, o->to, packed, a->packed, a->n, 0);
    else gb_gu_cast(o->from, memory, a->memory, o->to, packed, a->packed, a->n);
}

static void all(char *memory, char *packed, const gb_gu_operand *o, int64_t row, int64_t rows,
                int64_t step, int64_t len, int in) {
    int64_t size = o->core_items * o->kernel_item;
    axis a[GB_GU_MAXCORE + 2];
    a[0] = (axis){rows, row, len * size};
    int n = add_axis(a, 1, (axis){len, step, size});
    for (int d = 0; d < o->core_ndim; d++)
        n = add_axis(a, n, (axis){o->core_shape[d], o->core_strides[d], o->packed[d]});
    if (n > 1) longest_last(a, n, o);
    transfer(memory, packed, o, a, n, in);
}

void gb_gu_pack_rows(char *packed, const gb_gu_operand *o, const char *memory, int64_t row,
                     int64_t rows, int64_t step, int64_t len) {
    all((char *)memory, packed, o, row, rows, step, len, 1);
}

void gb_gu_unpack_rows(char *memory, const gb_gu_operand *o, const char *packed, int64_t row,
                       int64_t rows, int64_t step, int64_t len) {
    all(memory, (char *)packed, o, row, rows, step, len, 0);
}

/* ---- staging: operands into scratch memory and out of it ---- */

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
