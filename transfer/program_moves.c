/* program_moves.c: the loops that move: runs of any length, single elements, tiles transposed; with
 * the sign flipped if need be. */
#include "kernels.h"
#include "program.h"

/* Every index of the last two axes, a the faster. */
#define EACH(e)                                                                \
    const gb_copy_axis b_ = (e)->axis[(e)->n - 2], a_ = (e)->axis[(e)->n - 1]; \
    for (int64_t j_ = 0; j_ < b_.n;                                            \
         j_++, dst += b_.dst - a_.n * a_.dst, src += b_.src - a_.n * a_.src)   \
        for (int64_t i_ = 0; i_ < a_.n; i_++, dst += a_.dst, src += a_.src)

/* ---- the sign ---- */

/* What 16 bytes are xored with; they begin where a unit begins. */
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

void gb_program_runs_signed(const gb_program_entry *e, char *dst, const char *src) {
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

void gb_program_runs(const gb_program_entry *e, char *dst, const char *src) {
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

void gb_program_elements(const gb_program_entry *e, char *dst, const char *src) {
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

void gb_program_transpose(const gb_program_entry *e, char *dst, const char *src) {
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

/* ---- afterwards ---- */

void gb_program_clear(const gb_program_entry *e, char *src) {
    char *dst = src; /* one of the two that EACH moves is not looked at */
    size_t bytes = (size_t)(e->kind == GB_PROGRAM_RUNS ? e->run : e->item);
    EACH(e) memset(src, 0, bytes);
    (void)dst;
}
