/* table.c: the tables that list.h makes, one per instruction set, and which of them is taken. */
#include "table.h"
#include "../../../call.h"
#include "list.h"

static const gb_gu_extreme no_extreme = {0, -1};
static const gb_gu_range no_range;
static const gb_gu_moments no_moments;

#define DECLARE_GB_GU_NUMPY_LOOP(f) void f(char **, intptr_t const *, intptr_t const *, void *);
#define DECLARE_GB_GU_STATUS_LOOP(f) \
    intptr_t f(char **, intptr_t const *, intptr_t const *, void *, uint8_t *);
#define DECLARE(S, name, form, folds, types, signature, doc) DECLARE_##form(gb_gu_k_##name##_##S)
#define DECLARE_STATE(S, name, state, start, any_order, types, signature, doc)                     \
    void gb_gu_k_##name##_step_##S(void *, intptr_t, intptr_t, char **, intptr_t const *, void *); \
    void gb_gu_k_##name##_merge_##S(void *, void const *, void *);                                 \
    int gb_gu_k_##name##_final_##S(void const *, char **, void *);                                 \
    DECLARE_GB_GU_STATUS_LOOP(gb_gu_k_##name##_rows_##S)

#define ROW(S, name, form, folds, types, signature, doc) \
    {#name, types, signature, doc, form, folds, gb_gu_k_##name##_##S},
#define ROW_OF_STATE(S, name, state, start, any_order, types, signature, doc) \
    {#name, types, signature, doc, GB_GU_STATUS_LOOP, 0, gb_gu_k_##name##_rows_##S},
#define STATE(S, name, state, start, any_order, types, signature, doc) \
    {#name,                                                            \
     types,                                                            \
     &start,                                                           \
     sizeof(state),                                                    \
     any_order,                                                        \
     gb_gu_k_##name##_step_##S,                                        \
     gb_gu_k_##name##_merge_##S,                                       \
     gb_gu_k_##name##_final_##S},

#define BOTH(LIST, X, set) LIST(X, "f", f32_##set) LIST(X, "d", f64_##set)
#define TABLES(set)                                                                         \
    BOTH(GB_GU_LOOPS, DECLARE, set)                                                         \
    BOTH(GB_GU_STATES, DECLARE_STATE, set)                                                  \
    static const gb_gu_builtin loops_##set[] = {BOTH(GB_GU_LOOPS, ROW, set)                 \
                                                    BOTH(GB_GU_STATES, ROW_OF_STATE, set)}; \
    static const gb_gu_builtin_state states_##set[] = {BOTH(GB_GU_STATES, STATE, set)};

TABLES(base)
#ifdef __x86_64__
TABLES(avx2)
#endif

static int has_avx2(void) {
#ifdef __x86_64__
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

#ifdef __aarch64__
#define BASE "neon" /* every aarch64 processor has NEON */
#else
#define BASE "base"
#endif

const char *gb_gu_builtin_set(void) { return has_avx2() ? "avx2" : BASE; }

const gb_gu_builtin *gb_gu_builtin_loops(int base, int *n) {
    *n = (int)(sizeof loops_base / sizeof *loops_base);
#ifdef __x86_64__
    if (!base && has_avx2()) return loops_avx2;
#endif
    return loops_base;
}

const gb_gu_builtin_state *gb_gu_builtin_states(int *n) {
    *n = (int)(sizeof states_base / sizeof *states_base);
#ifdef __x86_64__
    if (has_avx2()) return states_avx2;
#endif
    return states_base;
}
