/* program.c: the loops over an entry's last two axes, one for each kind of entry; planning, once
 * for each copy: axes merged and sorted, long ones cut; and carrying out a range of entries. */
#include "program.h"
#include "casts.h"
#include "kernels.h"

typedef void (*entry_loop)(const gb_program_entry *e, char *dst, const char *src);

/* Every index of the last two axes, a the faster. */
#define EACH(e)                                                                \
    const gb_copy_axis b_ = (e)->axis[(e)->n - 2], a_ = (e)->axis[(e)->n - 1]; \
    for (int64_t j_ = 0; j_ < b_.n;                                            \
         j_++, dst += b_.dst - a_.n * a_.dst, src += b_.src - a_.n * a_.src)   \
        for (int64_t i_ = 0; i_ < a_.n; i_++, dst += a_.dst, src += a_.src)

/* ---- the sign ---- */

/* Mask of 16 bytes for the exclusive or; they begin where a unit begins. */
typedef struct mask {
    uint64_t half[2];
} mask;

static inline mask mask_of(const gb_program_entry *e) {
    mask m = {{0, 0}};
    if (e->mode & GB_PROGRAM_SIGN)
        for (int i = e->sign_byte; i < 16; i += e->sign_unit) ((unsigned char *)m.half)[i] = 0x80;
    return m;
}

static inline void flip_run(char *dst, const char *src, int64_t bytes, mask m) {
    int64_t i = 0;
    for (; i <= bytes - 16; i += 16) {
        uint64_t x[2];
        memcpy(x, src + i, 16);
        x[0] ^= m.half[0];
        x[1] ^= m.half[1];
        memcpy(dst + i, x, 16);
    }
    uint64_t x;
    if (bytes - i >= 8) {
        memcpy(&x, src + i, 8);
        x ^= m.half[0];
        memcpy(dst + i, &x, 8);
        i += 8;
    }
    unsigned char rest[8]; /* elements of 4 bytes and less: both halves are the same */
    memcpy(rest, m.half, 8);
    for (int64_t k = 0; i < bytes; i++, k++) dst[i] = (char)((unsigned char)src[i] ^ rest[k]);
}

static void copy_runs_signed(const gb_program_entry *e, char *dst, const char *src) {
    mask m = mask_of(e);
    EACH(e) flip_run(dst, src, e->run, m);
}

/* ---- runs ---- */

/* A halo's width is known when the program is compiled by C: its run is a few registers. */
#define RUN(bytes)                       \
    case bytes: {                        \
        EACH(e) memcpy(dst, src, bytes); \
    }                                    \
        return

static void copy_runs(const gb_program_entry *e, char *dst, const char *src) {
    int64_t run = e->run;
    switch (run) {
        RUN(1);
        RUN(2);
        RUN(4);
        RUN(6);
        RUN(8);
        RUN(12);
        RUN(16);
        RUN(20);
        RUN(24);
        RUN(32);
        RUN(40);
        RUN(48);
        RUN(64);
    }
    if (run < 8) {
        EACH(e) for (int64_t i = 0; i < run; i++) dst[i] = src[i];
    } else if (run <= 16) {
        EACH(e) memcpy(dst, src, 8), memcpy(dst + run - 8, src + run - 8, 8);
    } else if (run <= 64) { /* the last piece overlaps the one before */
        EACH(e) {
            for (int64_t i = 0; i < run - 16; i += 16) memcpy(dst + i, src + i, 16);
            memcpy(dst + run - 16, src + run - 16, 16);
        }
    } else {
        void (*copy)(char *, const char *, int64_t) = gb_copy_kernels_here->copy;
        int64_t next = run <= 2048 ? e->axis[e->n - 1].dst
                                   : 0; /* longer rows give the caches time by themselves */
        EACH(e) {
            if (next)
                for (int64_t i = 0; i < run; i += 64) __builtin_prefetch(dst + next + i, 1);
            copy(dst, src, run);
        }
    }
}

/* ---- elements ---- */

typedef struct {
    uint64_t half[2];
} pair;

#define ELEMENTS(word, FLIP)           \
    {                                  \
        EACH(e) {                      \
            word x;                    \
            memcpy(&x, src, sizeof x); \
            FLIP;                      \
            memcpy(dst, &x, sizeof x); \
        }                              \
    }                                  \
    return

static void copy_elements(const gb_program_entry *e, char *dst, const char *src) {
    mask m = mask_of(e);
    uint8_t m1;
    uint16_t m2;
    uint32_t m4;
    memcpy(&m1, &m, 1), memcpy(&m2, &m, 2), memcpy(&m4, &m, 4);
    switch (e->item) {
    case 1: ELEMENTS(uint8_t, x ^= m1);
    case 2: ELEMENTS(uint16_t, x ^= m2);
    case 4: ELEMENTS(uint32_t, x ^= m4);
    case 8: ELEMENTS(uint64_t, x ^= m.half[0]);
    default: ELEMENTS(pair, x.half[0] ^= m.half[0]; x.half[1] ^= m.half[1]);
    }
}

/* ---- tiles ---- */

enum { RUN_A = 128, RUN_B = 32 };

static void copy_tiles(const gb_program_entry *e, char *dst, const char *src) {
    const gb_copy_axis b = e->axis[e->n - 2], a = e->axis[e->n - 1];
    _Alignas(64) char scratch[RUN_A * RUN_B * 16];
    int64_t src_at[RUN_A], dst_at[RUN_B], item = e->item;
    mask m = mask_of(e);
    gb_copy_transpose_fn transpose =
        gb_copy_kernels_here->transpose[__builtin_ctz((unsigned)e->item)];
    int64_t most_a = item == 16 ? RUN_A / 2 : RUN_A, most_b = item == 16 ? RUN_B / 2 : RUN_B;
    for (int64_t i = 0; i < most_a; i++) src_at[i] = i * a.src;
    for (int64_t i = 0; i < most_b; i++) dst_at[i] = i * b.dst;
    for (int64_t j = 0; j < b.n; j += most_b) {
        int64_t n_b = b.n - j < most_b ? b.n - j : most_b;
        for (int64_t i = 0; i < a.n; i += most_a) {
            int64_t n_a = a.n - i < most_a ? a.n - i : most_a,
                    pitch = (n_a * item + 63) & ~(int64_t)63;
            char *to = dst + j * b.dst + i * item;
            transpose(scratch, pitch, src + j * item + i * a.src, src_at, n_a, n_b);
            if (!(e->mode & GB_PROGRAM_SIGN))
                gb_copy_kernels_here->put(to, dst_at, scratch, pitch, n_b, n_a * item);
            else
                for (int64_t r = 0; r < n_b; r++)
                    flip_run(to + dst_at[r], scratch + r * pitch, n_a * item, m);
        }
    }
}

static void clear_source(const gb_program_entry *e, char *src) {
    char *dst = src; /* one of the two that EACH moves is not looked at */
    size_t bytes = (size_t)(e->kind == GB_PROGRAM_RUNS ? e->run : e->item);
    EACH(e) memset(src, 0, bytes);
    (void)dst;
}

/* ---- sums: halos that return to the points they came from ---- */

/* Element by element in the order of memory. Dense rows have a loop of their own, in which several
 * elements are added at a time. */
#define SUMS(name, T, ADD)                                                                 \
    static inline void name##_row(char *dst, const char *src, int64_t n, int64_t dst_step, \
                                  int64_t src_step, int negative) {                        \
        (void)negative;                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                  \
            T x, y;                                                                        \
            memcpy(&x, dst + i * dst_step, sizeof x);                                      \
            memcpy(&y, src + i * src_step, sizeof y);                                      \
            x = ADD;                                                                       \
            memcpy(dst + i * dst_step, &x, sizeof x);                                      \
        }                                                                                  \
    }                                                                                      \
    static void name(const gb_program_entry *e, char *dst, const char *src) {              \
        const gb_copy_axis b = e->axis[e->n - 2], a = e->axis[e->n - 1];                   \
        int negative = e->mode & GB_PROGRAM_SIGN;                                          \
        int dense = a.dst == sizeof(T) && a.src == sizeof(T);                              \
        for (int64_t j = 0; j < b.n; j++) {                                                \
            if (dense) name##_row(dst, src, a.n, sizeof(T), sizeof(T), negative);          \
            else name##_row(dst, src, a.n, a.dst, a.src, negative);                        \
            dst += b.dst;                                                                  \
            src += b.src;                                                                  \
        }                                                                                  \
    }

/* Halves are added as floats: the sum of two is rounded once more, and 24 bits are enough for that
 * to be the rounded sum. */
static uint16_t half_sum(uint16_t x, uint16_t y) {
    return float_to_half(half_to_float(x) + half_to_float(y));
}

SUMS(sum_bool, uint8_t, (uint8_t)((x | y) != 0))
SUMS(sum_8, uint8_t, (uint8_t)(negative ? x - y : x + y))
SUMS(sum_16, uint16_t, (uint16_t)(negative ? x - y : x + y))
SUMS(sum_32, uint32_t, negative ? x - y : x + y)
SUMS(sum_64, uint64_t, negative ? x - y : x + y)
SUMS(sum_half, uint16_t, half_sum(x, negative ? y ^ 0x8000 : y))
SUMS(sum_float, float, negative ? x - y : x + y)
SUMS(sum_double, double, negative ? x - y : x + y)
SUMS(sum_long_double, long double, negative ? x - y : x + y)

static entry_loop sums_of(int type) {
    switch (type) {
    case GB_BOOL: return sum_bool;
    case GB_I8:
    case GB_U8: return sum_8;
    case GB_I16:
    case GB_U16: return sum_16;
    case GB_I32:
    case GB_U32: return sum_32;
    case GB_I64:
    case GB_U64: return sum_64;
    case GB_F16: return sum_half;
    case GB_F32: return sum_float;
    case GB_F64: return sum_double;
    case GB_LONGDOUBLE: return sum_long_double;
    }
    return NULL;
}

/* ---- planning ---- */

#define PIECE \
    (256      \
     << 10) /* bytes of the target in an entry: a share worth a thread's while, and some 20 us */
#define BASE      \
    ((uintptr_t)1 \
     << 62) /* offsets as addresses, for gb_copy_axes_of: they stay below 2^61 on either side */

static int push(gb_program *program, const gb_program_entry *e) {
    if (program->n == program->room) {
        int64_t room = program->room ? 2 * program->room : 16;
        gb_program_entry *entries = realloc(program->entries, (size_t)room * sizeof *entries);
        if (!entries) return GB_COPY_NO_MEMORY;
        program->entries = entries;
        program->room = room;
    }
    program->entries[program->n++] = *e;
    program->bytes += e->bytes;
    if (e->kind == GB_PROGRAM_RUNS && e->run >= GB_PROGRAM_DENSE) program->dense += e->bytes;
    return GB_COPY_OK;
}

/* The part of an axis from `begin` on. */
static gb_program_entry part(const gb_program_entry *e, int axis, int64_t begin, int64_t n) {
    gb_program_entry p = *e;
    const gb_copy_axis *x = &e->axis[axis];
    p.dst_at += begin * x->dst;
    p.src_at += begin * x->src;
    p.bytes = e->bytes / x->n * n;
    p.axis[axis].n = n;
    return p;
}

/* Cut along the slowest axis that is long enough, else index by index along the slowest there is.
 */
static int push_in_pieces(gb_program *program, const gb_program_entry *e) {
    int64_t pieces = (e->bytes - 1) / PIECE + 1, whole = e->kind == GB_PROGRAM_TRANSPOSE ? 128 : 1;
    int slowest = -1;
    if (pieces <= 1) return push(program, e);
    for (int i = 0; i < e->n && slowest < 0; i++)
        if (e->axis[i].n > (i < e->n - 2 ? 1 : whole)) slowest = i;
    if (slowest < 0) { /* one run of bytes; cut where a sign's pattern begins anew */
        if (e->kind != GB_PROGRAM_RUNS) return push(program, e);
        int64_t step = (e->run / pieces + 4095) / 4096 * 4096;
        for (int64_t at = 0; at < e->run; at += step) {
            gb_program_entry p = *e;
            p.dst_at += at;
            p.src_at += at;
            p.run = p.bytes = e->run - at < step ? e->run - at : step;
            int rc = push(program, &p);
            if (rc != GB_COPY_OK) return rc;
        }
        return GB_COPY_OK;
    }
    int64_t n = e->axis[slowest].n, step = n / pieces > 1 ? (n - 1) / pieces + 1 : 1;
    if (slowest >= e->n - 2) step = (step + whole - 1) / whole * whole;
    for (int64_t at = 0; at < n; at += step) {
        gb_program_entry p = part(e, slowest, at, n - at < step ? n - at : step);
        int rc = p.axis[slowest].n == 1 ? push_in_pieces(program, &p) : push(program, &p);
        if (rc != GB_COPY_OK) return rc;
    }
    return GB_COPY_OK;
}

static void swap_last(gb_copy_axis *axis, int n, int s) {
    gb_copy_axis moved = axis[s];
    for (int i = s; i < n - 2; i++) axis[i] = axis[i + 1];
    axis[n - 2] = moved;
}

/* Whether tiles pay: both sides have a dense axis, other ones, of some length. The source's is
 * brought before the last. */
static int transposed(gb_copy_axes *axes) {
    int d = axes->n - 1, s = -1;
    if (axes->n < 2 || axes->axis[d].dst != axes->item || axes->axis[d].n < 8) return 0;
    for (int i = 0; i < d; i++)
        if (llabs(axes->axis[i].src) == axes->item && axes->axis[i].n >= 8) s = i;
    if (s < 0 || axes->axis[d].n * axes->axis[s].n < 256) return 0;
    if (axes->axis[s].src < 0) gb_copy_axis_flip(axes, s);
    swap_last(axes->axis, axes->n, s);
    return 1;
}

/* An entry has room for few axes; of a box with more, the slowest is walked here. */
static int push_axes(gb_program *program, gb_program_entry *e, const gb_copy_axis *axis, int n) {
    if (n <= GB_PROGRAM_AXES) {
        e->n = (uint8_t)n;
        memcpy(e->axis, axis, (size_t)n * sizeof *axis);
        return push_in_pieces(program, e);
    }
    int64_t dst_at = e->dst_at, src_at = e->src_at, bytes = e->bytes;
    e->bytes /= axis->n;
    for (int64_t i = 0; i < axis->n; i++) {
        e->dst_at = dst_at + i * axis->dst;
        e->src_at = src_at + i * axis->src;
        int rc = push_axes(program, e, axis + 1, n - 1);
        if (rc != GB_COPY_OK) return rc;
    }
    e->bytes = bytes;
    return GB_COPY_OK;
}

int gb_program_append(gb_program *program, const gb_program_copy *copy) {
    int64_t shape[GB_COPY_DIMS], dst[GB_COPY_DIMS], src[GB_COPY_DIMS], item = copy->item;
    int n = copy->ndim, add = copy->mode & GB_PROGRAM_ADD, type = copy->type;
    if (n < 0 || n > GB_COPY_DIMS - 1) return GB_COPY_BAD_VIEW;
    if (n) {
        memcpy(shape, copy->shape, (size_t)n * sizeof *shape);
        memcpy(dst, copy->dst_strides, (size_t)n * sizeof *dst);
        memcpy(src, copy->src_strides, (size_t)n * sizeof *src);
    }
    if (add && gb_type_is_complex(type)) { /* two reals */
        type = gb_type_real(type);
        item /= 2;
        shape[n] = 2, dst[n] = src[n] = item;
        n++;
    }
    if (add && !sums_of(type)) return GB_COPY_NO_CAST;
    gb_copy_view to = {(char *)(BASE + (uintptr_t)copy->dst_at), item, GB_RAW, n, shape, dst};
    gb_copy_view from = {(char *)(BASE + (uintptr_t)copy->src_at), item, GB_RAW, n, shape, src};
    gb_copy_axes axes;
    int rc = gb_copy_axes_of(&axes, &to, &from);
    if (rc != GB_COPY_OK || axes.elements == 0) return rc;
    gb_program_entry e = {
        .bytes = axes.elements * axes.item,
        .dst_slot = copy->dst_slot,
        .src_slot = copy->src_slot,
        .item = (int32_t)axes.item,
        .mode = (uint8_t)copy->mode,
        .type = (uint8_t)type,
        .sign_unit = (uint8_t)copy->sign_unit,
        .sign_byte = (uint8_t)copy->sign_byte,
    };
    const gb_copy_axis *last = axes.n ? &axes.axis[axes.n - 1] : NULL;
    if (add) e.kind = GB_PROGRAM_SUMS;
    else if (!last || (last->dst == axes.item && last->src == axes.item)) {
        e.kind = GB_PROGRAM_RUNS;
        e.run = axes.item;
        if (last) e.run *= last->n, axes.n--;
    } else e.kind = transposed(&axes) ? GB_PROGRAM_TRANSPOSE : GB_PROGRAM_ELEMENTS;
    for (; axes.n < 2; axes.n++) {
        memmove(axes.axis + 1, axes.axis, (size_t)axes.n * sizeof *axes.axis);
        axes.axis[0] = (gb_copy_axis){1, 0, 0};
    }
    e.dst_at = (int64_t)((uintptr_t)axes.dst - BASE);
    e.src_at = (int64_t)((uintptr_t)axes.src - BASE);
    if (copy->mode & (GB_PROGRAM_ADD | GB_PROGRAM_CLEAR)) program->ordered = 1;
    return push_axes(program, &e, axes.axis, axes.n);
}

void gb_program_free(gb_program *program) {
    free(program->entries);
    *program = (gb_program){0};
}

/* ---- a range of entries ---- */

static entry_loop loop_of(const gb_program_entry *e) {
    switch (e->kind) {
    case GB_PROGRAM_RUNS: return e->mode & GB_PROGRAM_SIGN ? copy_runs_signed : copy_runs;
    case GB_PROGRAM_TRANSPOSE: return copy_tiles;
    case GB_PROGRAM_SUMS: return sums_of(e->type);
    default: return copy_elements;
    }
}

/* The loop, at every index of the axes before the last two; then once more to clear what was read.
 */
static void carry_out(const gb_program_entry *e, char *dst, char *src) {
    entry_loop loop = loop_of(e);
    for (int clears = 0; clears <= !!(e->mode & GB_PROGRAM_CLEAR); clears++) {
        int64_t index[GB_PROGRAM_AXES] = {0};
        uint64_t to = (uintptr_t)dst, from = (uintptr_t)src;
        do {
            if (clears) clear_source(e, (char *)(uintptr_t)from);
            else loop(e, (char *)(uintptr_t)to, (const char *)(uintptr_t)from);
        } while (gb_copy_axis_step(e->axis, e->n - 2, index, &to, &from));
    }
}

void gb_program_entries_run(const gb_program *program, char *const *bases, int64_t first,
                            int64_t end) {
    for (int64_t i = first; i < end; i++) {
        const gb_program_entry *e = &program->entries[i];
        carry_out(e, bases[e->dst_slot] + e->dst_at, bases[e->src_slot] + e->src_at);
    }
}

/* As of a copy (copy.c): dense runs go at the speed of the caches. */
static int threads_of(const gb_program *program) {
    int64_t enough = 2 * program->dense > program->bytes ? 4 << 20 : 1 << 20;
    return program->ordered ? 1 : gb_work_threads(program->bytes, enough);
}

static void run_entries(void *of, int64_t first, int64_t end) {
    const gb_program_run *run = of;
    gb_program_entries_run(run->program, run->bases, first, end);
}

gb_work gb_program_work(gb_program_run *run) {
    const gb_program *program = run->program;
    return (gb_work){.run = run_entries,
                     .of = run,
                     .pieces = program->n,
                     .batch = gb_work_batch(program->bytes, program->n, 256 << 10),
                     .threads = threads_of(program)};
}
