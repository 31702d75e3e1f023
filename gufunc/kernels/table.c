/* table.c: which loops there are, and which instruction set is taken. */
#include "table.h"
#include "headers.h"
#include "../types.h"

enum { NUMPY_LOOP = 1, STATUS_LOOP };

#define LOOP(name) void name(char **, intptr_t const *, intptr_t const *, void *);
#define STATUS(name) intptr_t name(char **, intptr_t const *, intptr_t const *, void *, uint8_t *);
#define STATE_OF(name, type_set)                                                                                  \
    void gb_k_##name##_step_##type_set(void *, intptr_t, intptr_t, char **, intptr_t const *, void *);            \
    void gb_k_##name##_merge_##type_set(void *, void const *, void *);                                            \
    int gb_k_##name##_final_##type_set(void const *, char **, void *);                                            \
    STATUS(gb_k_##name##_rows_##type_set)
#define STATES(set)                                                                                               \
    STATE_OF(argmin, f32_##set) STATE_OF(argmin, f64_##set) STATE_OF(argmax, f32_##set) STATE_OF(argmax, f64_##set) \
    STATE_OF(minmax, f32_##set) STATE_OF(minmax, f64_##set) STATE_OF(moments, f32_##set) STATE_OF(moments, f64_##set)

#define FAMILY(set)                                                                                               \
    STATUS(gb_k_inv_f64_##set) STATUS(gb_k_inv_f32_##set) STATUS(gb_k_det_f64_##set) STATUS(gb_k_det_f32_##set)   \
    STATUS(gb_k_solve_f64_##set) STATUS(gb_k_solve_f32_##set) STATUS(gb_k_cholesky_f64_##set)                     \
    STATUS(gb_k_cholesky_f32_##set) STATUS(gb_k_tridiagonal_f64_##set) STATUS(gb_k_tridiagonal_f32_##set)         \
    LOOP(gb_k_dot_f64_##set) LOOP(gb_k_dot_f32_##set) LOOP(gb_k_matvec_f64_##set) LOOP(gb_k_matvec_f32_##set)     \
    LOOP(gb_k_add_f64_##set) LOOP(gb_k_add_f32_##set) LOOP(gb_k_maximum_f64_##set) LOOP(gb_k_maximum_f32_##set)   \
    LOOP(gb_k_minimum_f64_##set) LOOP(gb_k_minimum_f32_##set)                                                     \
    LOOP(gb_k_sqrt_f64_##set) LOOP(gb_k_sqrt_f32_##set) LOOP(gb_k_divide_f64_##set) LOOP(gb_k_divide_f32_##set)

#define ROWS_OF(set)                                                                                              \
    static const gb_shipped loops_##set[] = {                                                                     \
        {"inv", "f->f", STATUS_LOOP, gb_k_inv_f32_##set}, {"inv", "d->d", STATUS_LOOP, gb_k_inv_f64_##set},       \
        {"det", "f->f", STATUS_LOOP, gb_k_det_f32_##set}, {"det", "d->d", STATUS_LOOP, gb_k_det_f64_##set},       \
        {"solve", "ff->f", STATUS_LOOP, gb_k_solve_f32_##set}, {"solve", "dd->d", STATUS_LOOP, gb_k_solve_f64_##set}, \
        {"cholesky", "f->f", STATUS_LOOP, gb_k_cholesky_f32_##set},                                               \
        {"cholesky", "d->d", STATUS_LOOP, gb_k_cholesky_f64_##set},                                               \
        {"tridiagonal", "ffff->f", STATUS_LOOP, gb_k_tridiagonal_f32_##set},                                      \
        {"tridiagonal", "dddd->d", STATUS_LOOP, gb_k_tridiagonal_f64_##set},                                      \
        {"dot", "ff->f", NUMPY_LOOP, gb_k_dot_f32_##set}, {"dot", "dd->d", NUMPY_LOOP, gb_k_dot_f64_##set},       \
        {"matvec", "ff->f", NUMPY_LOOP, gb_k_matvec_f32_##set}, {"matvec", "dd->d", NUMPY_LOOP, gb_k_matvec_f64_##set}, \
        {"add", "ff->f", NUMPY_LOOP, gb_k_add_f32_##set}, {"add", "dd->d", NUMPY_LOOP, gb_k_add_f64_##set},       \
        {"maximum", "ff->f", NUMPY_LOOP, gb_k_maximum_f32_##set}, {"maximum", "dd->d", NUMPY_LOOP, gb_k_maximum_f64_##set}, \
        {"minimum", "ff->f", NUMPY_LOOP, gb_k_minimum_f32_##set}, {"minimum", "dd->d", NUMPY_LOOP, gb_k_minimum_f64_##set}, \
        {"sqrt", "f->f", NUMPY_LOOP, gb_k_sqrt_f32_##set}, {"sqrt", "d->d", NUMPY_LOOP, gb_k_sqrt_f64_##set},     \
        {"divide", "ff->f", NUMPY_LOOP, gb_k_divide_f32_##set}, {"divide", "dd->d", NUMPY_LOOP, gb_k_divide_f64_##set}, \
        {"argmin", "f->l", STATUS_LOOP, gb_k_argmin_rows_f32_##set}, {"argmin", "d->l", STATUS_LOOP, gb_k_argmin_rows_f64_##set}, \
        {"argmax", "f->l", STATUS_LOOP, gb_k_argmax_rows_f32_##set}, {"argmax", "d->l", STATUS_LOOP, gb_k_argmax_rows_f64_##set}, \
        {"minmax", "f->ff", STATUS_LOOP, gb_k_minmax_rows_f32_##set}, {"minmax", "d->dd", STATUS_LOOP, gb_k_minmax_rows_f64_##set}, \
        {"moments", "f->ff", STATUS_LOOP, gb_k_moments_rows_f32_##set}, {"moments", "d->dd", STATUS_LOOP, gb_k_moments_rows_f64_##set}, \
    };

STATES(base)
FAMILY(base)
ROWS_OF(base)
#ifdef __x86_64__
STATES(avx2)
FAMILY(avx2)
ROWS_OF(avx2)
#endif

static int has_avx2(void) {
#ifdef __x86_64__
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

const char *gb_shipped_set(void) { return has_avx2() ? "avx2" : "base"; }

const gb_shipped *gb_shipped_loops(int base, int *n) {
#ifdef __x86_64__
    if (!base && has_avx2()) {
        *n = (int)(sizeof loops_avx2 / sizeof *loops_avx2);
        return loops_avx2;
    }
#endif
    *n = (int)(sizeof loops_base / sizeof *loops_base);
    return loops_base;
}

static const gb_extreme no_extreme = {0, -1};
static const gb_range no_range;
static const gb_moments no_moments;

#define STATE_ROW(name, char_, outs, type, start)                                                                 \
    {#name, char_ "->" outs, &start, sizeof start, _Alignof(double), gb_k_##name##_step_##type, gb_k_##name##_merge_##type, gb_k_##name##_final_##type}

#define STATES_OF(set)                                                                                            \
    static const gb_shipped_state states_##set[] = {                                                              \
        STATE_ROW(argmin, "f", "l", f32_##set, no_extreme), STATE_ROW(argmin, "d", "l", f64_##set, no_extreme),   \
        STATE_ROW(argmax, "f", "l", f32_##set, no_extreme), STATE_ROW(argmax, "d", "l", f64_##set, no_extreme),   \
        STATE_ROW(minmax, "f", "ff", f32_##set, no_range), STATE_ROW(minmax, "d", "dd", f64_##set, no_range),     \
        STATE_ROW(moments, "f", "ff", f32_##set, no_moments), STATE_ROW(moments, "d", "dd", f64_##set, no_moments), \
    };

STATES_OF(base)
#ifdef __x86_64__
STATES_OF(avx2)
#endif

const gb_shipped_state *gb_shipped_states(int *n) {
    *n = (int)(sizeof states_base / sizeof *states_base);
#ifdef __x86_64__
    if (has_avx2()) return states_avx2;
#endif
    return states_base;
}
