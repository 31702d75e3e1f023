/* fpstate.h: the floating-point environment of a thread, around kernel calls.
 *
 * On x86 a flag can be raised in two places, and either counts: by arithmetic in the SSE
 * unit, or in the x87 unit, by long double and by feraiseexcept(FE_OVERFLOW), which is
 * how many of NumPy's loops say that something overflowed. Reading the x87 status costs
 * a nanosecond, clearing it fifteen and writing it a hundred, so that it is written only
 * when it has changed.
 */
#pragma once

#include "types.h"

#include <fenv.h>

#if defined(__x86_64__) && defined(__SSE2__)
#include <xmmintrin.h>

typedef struct gb_gu_fp {
    uint32_t csr;
    uint16_t control, status;
} gb_gu_fp;
#define GB_GU_CSR_DEFAULT                                                  \
    0x1f80u /* every exception masked, to nearest, nothing flushed to zero \
             */
#define GB_GU_X87_DEFAULT                                                   \
    0x037fu /* every exception masked, to nearest, all 64 bits of precision \
             */
#define GB_GU_X87_FLAGS 0x3fu

static inline uint16_t gb_gu_x87_status(void) {
    uint16_t status;
    __asm__ volatile("fnstsw %0" : "=a"(status)::"memory");
    return status;
}
static inline uint16_t gb_gu_x87_control(void) {
    uint16_t control;
    __asm__ volatile("fnstcw %0" : "=m"(control)::"memory");
    return control;
}

/* Both in one step: an exception that is pending as its mask is lifted would trap. */
static inline void gb_gu_x87_restore(uint16_t control, uint16_t status) {
    struct {
        uint16_t control, r0, status, r1, rest[10];
    } env;
    __asm__ volatile("fnstenv %0" : "=m"(env)::"memory");
    env.control = control;
    env.status = (uint16_t)((env.status & ~GB_GU_X87_FLAGS) | (status & GB_GU_X87_FLAGS));
    __asm__ volatile("fldenv %0" ::"m"(env) : "memory");
}

/* The compiler keeps calls of kernels on their side of the reads and writes. */
static inline void gb_gu_fp_enter(gb_gu_fp *saved) {
    saved->csr = _mm_getcsr();
    saved->control = gb_gu_x87_control();
    saved->status = gb_gu_x87_status();
    if (saved->control != GB_GU_X87_DEFAULT || saved->status & GB_GU_X87_FLAGS)
        gb_gu_x87_restore(GB_GU_X87_DEFAULT, 0);
    _mm_setcsr(GB_GU_CSR_DEFAULT);
    __asm__ volatile("" ::: "memory");
}
static inline void gb_gu_fp_leave(const gb_gu_fp *saved) {
    __asm__ volatile("" ::: "memory");
    if (saved->control != GB_GU_X87_DEFAULT || saved->status & GB_GU_X87_FLAGS)
        gb_gu_x87_restore(saved->control, saved->status);
    else if (gb_gu_x87_status() & GB_GU_X87_FLAGS) __asm__ volatile("fnclex" ::: "memory");
    _mm_setcsr(saved->csr);
}
static inline void gb_gu_fp_clear(void) {
    _mm_setcsr(GB_GU_CSR_DEFAULT);
    if (gb_gu_x87_status() & GB_GU_X87_FLAGS) __asm__ volatile("fnclex" ::: "memory");
    __asm__ volatile("" ::: "memory");
}
static inline int gb_gu_fp_flags(void) {
    __asm__ volatile("" ::: "memory");
    uint32_t raised = _mm_getcsr() | gb_gu_x87_status(); /* both have the flags in the same bits */
    return (int)((raised & 1) | (raised >> 1 & (GB_GU_DIVIDE | GB_GU_OVERFLOW)));
}
/* As NumPy numbers them: 1 division by zero, 2 overflow, 4 underflow, 8 invalid. */
static inline int gb_gu_fp_numpy_flags(void) {
    __asm__ volatile("" ::: "memory");
    uint32_t raised = _mm_getcsr() | gb_gu_x87_status();
    return (int)((raised >> 2 & 7) | (raised & 1) << 3);
}

#else

typedef struct gb_gu_fp {
    fenv_t env;
} gb_gu_fp;
static inline void gb_gu_fp_enter(gb_gu_fp *saved) {
    fegetenv(&saved->env);
    fesetenv(FE_DFL_ENV);
}
static inline void gb_gu_fp_leave(const gb_gu_fp *saved) { fesetenv(&saved->env); }
static inline void gb_gu_fp_clear(void) { feclearexcept(FE_ALL_EXCEPT); }
static inline int gb_gu_fp_flags(void) {
    int f = fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    return (f & FE_INVALID ? GB_GU_INVALID : 0) | (f & FE_DIVBYZERO ? GB_GU_DIVIDE : 0) |
           (f & FE_OVERFLOW ? GB_GU_OVERFLOW : 0);
}
static inline int gb_gu_fp_numpy_flags(void) {
    int f = fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW);
    return (f & FE_DIVBYZERO ? 1 : 0) | (f & FE_OVERFLOW ? 2 : 0) | (f & FE_UNDERFLOW ? 4 : 0) |
           (f & FE_INVALID ? 8 : 0);
}
#endif
