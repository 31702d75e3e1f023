/* fused.c: see fused.h. */
#include "fused.h"
#include "cast.h"
#include "fpstate.h"

gb_gu_fused *gb_gu_fused_new(int nsteps) {
    return calloc(1, sizeof(gb_gu_fused) + (size_t)nsteps * sizeof(gb_gu_fused_step));
}

void gb_gu_fused_free(gb_gu_fused *program) { free(program); }

/* ---- select: a choice by bits, which has no branch to guess; with gcc -O2 alone makes no vectors
 * of it. An output may lie where an input is, element for element. ---- */

#ifdef __clang__
#define ELEMENTWISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define ELEMENTWISE _Pragma("GCC ivdep")
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif

#define CHOOSE(T, A, B)                            \
    ELEMENTWISE for (intptr_t i = 0; i < n; i++) { \
        T mask = (T)(0 - (T)(when[i] != 0));       \
        out[i] = (T)((A & mask) | (B & (T)~mask)); \
    }
#define SELECT(T)                                                                     \
    static void select_##T(char *const *p, const intptr_t *s, intptr_t n) {           \
        const uint8_t *when = (const uint8_t *)p[0];                                  \
        const T *a = (const T *)p[1], *b = (const T *)p[2], first = *a, second = *b;  \
        T *out = (T *)p[3];                                                           \
        intptr_t item = sizeof(T);                                                    \
        if (s[0] == 1 && s[3] == item && s[1] == item && s[2] == item) {              \
            CHOOSE(T, a[i], b[i])                                                     \
        } else if (s[0] == 1 && s[3] == item && s[1] == item && s[2] == 0) {          \
            CHOOSE(T, a[i], second)                                                   \
        } else if (s[0] == 1 && s[3] == item && s[1] == 0 && s[2] == item) {          \
            CHOOSE(T, first, b[i])                                                    \
        } else {                                                                      \
            for (intptr_t i = 0; i < n; i++)                                          \
                *(T *)(p[3] + i * s[3]) =                                             \
                    *(const T *)(when[i * s[0]] ? p[1] + i * s[1] : p[2] + i * s[2]); \
        }                                                                             \
    }
SELECT(uint8_t)
SELECT(uint16_t)
SELECT(uint32_t)
SELECT(uint64_t)
#ifndef __clang__
#pragma GCC pop_options
#endif

static void select_16_bytes(char *const *p, const intptr_t *s, intptr_t n) {
    for (intptr_t i = 0; i < n; i++) {
        int k = p[0][i * s[0]] ? 1 : 2;
        memmove(p[3] + i * s[3], p[k] + i * s[k], 16);
    }
}

static void choose(int64_t item, char *const *p, const intptr_t *s, intptr_t n) {
    switch (item) {
    case 1: select_uint8_t(p, s, n); break;
    case 2: select_uint16_t(p, s, n); break;
    case 4: select_uint32_t(p, s, n); break;
    case 8: select_uint64_t(p, s, n); break;
    default:
        for (int64_t part = 0; part < item; part += 16) {
            char *const q[] = {p[0], p[1] + part, p[2] + part, p[3] + part};
            select_16_bytes(q, s, n);
        }
    }
}

/* ---- one tile ---- */

static void run_step(const gb_gu_fused_step *step, char **args, intptr_t n, const intptr_t *steps) {
    if (step->kind == GB_GU_FUSED_LOOP) step->function(args, &n, steps, step->data);
    else if (step->kind == GB_GU_FUSED_SELECT) choose(gb_type_size(step->to), args, steps, n);
    else gb_gu_cast(step->to, args[1], steps[1], step->from, args[0], steps[0], steps[1] ? n : 1);
}

/* Workers share the flags. */
static void note(uint8_t *flags, int raised) {
    if ((__atomic_load_n(flags, __ATOMIC_RELAXED) & raised) != raised)
        __atomic_fetch_or(flags, (uint8_t)raised, __ATOMIC_RELAXED);
    gb_gu_fp_clear();
}

/* NumPy's comparisons clear the flags: they are read after each step. */
static void run_tile(const gb_gu_fused_run *run, char *const *args, const intptr_t *steps,
                     char *room, intptr_t at, intptr_t n) {
    const gb_gu_fused *program = run->program;
    for (int i = 0; i < program->nsteps; i++) {
        const gb_gu_fused_step *step = &program->step[i];
        char *p[GB_GU_FUSED_ARGS];
        intptr_t s[GB_GU_FUSED_ARGS];
        for (int k = 0; k < step->nargs; k++) {
            const gb_gu_fused_place *place = &step->place[k];
            int o = place->operand;
            s[k] = o >= 0 ? steps[o] : place->step;
            p[k] = o >= 0                       ? args[o] + at * s[k]
                   : o == GB_GU_FUSED_PARAMETER ? run->parameters + place->at
                                                : room + place->at;
        }
        run_step(step, p, n, s);
        int raised = run->flags ? gb_gu_fp_numpy_flags() : 0;
        if (raised) note(&run->flags[i], raised);
    }
}

void gb_gu_fused_loop(char **args, intptr_t const *dims, intptr_t const *steps, void *data) {
    const gb_gu_fused_run *run = data;
    _Alignas(64) char room[GB_GU_FUSED_ROOM];
    intptr_t tile = run->program->tile;
    for (intptr_t at = 0; at < dims[0]; at += tile)
        run_tile(run, args, steps, room, at, dims[0] - at < tile ? dims[0] - at : tile);
}
