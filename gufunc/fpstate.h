/* fpstate.h: the floating-point environment of a thread, around kernel calls. */
#ifndef GRIDBUF_GUFUNC_FPSTATE_H
#define GRIDBUF_GUFUNC_FPSTATE_H

#include "types.h"

#include <fenv.h>

#if defined(__x86_64__) && defined(__SSE2__)
#include <xmmintrin.h>

typedef struct gb_fp { uint32_t csr; } gb_fp;
#define GB_CSR_DEFAULT 0x1f80u   /* every exception masked, to nearest, nothing flushed to zero */

/* The empty asm keeps calls of kernels on their side of the reads and writes. */
static inline void gb_fp_enter(gb_fp *saved) {
    saved->csr = _mm_getcsr();
    _mm_setcsr(GB_CSR_DEFAULT);
    __asm__ volatile("" ::: "memory");
}
static inline void gb_fp_leave(const gb_fp *saved) {
    __asm__ volatile("" ::: "memory");
    _mm_setcsr(saved->csr);
}
static inline void gb_fp_clear(void) {
    _mm_setcsr(GB_CSR_DEFAULT);
    __asm__ volatile("" ::: "memory");
}
static inline int gb_fp_flags(void) {
    __asm__ volatile("" ::: "memory");
    uint32_t csr = _mm_getcsr();
    return (int)((csr & 1) | (csr >> 1 & (GB_DIVIDE | GB_OVERFLOW)));
}
/* long double works on the x87 unit, which has flags of its own. */
static inline void gb_x87_clear(void) { __asm__ volatile("fnclex" ::: "memory"); }
static inline int gb_x87_flags(void) {
    uint16_t status;
    __asm__ volatile("fnstsw %0" : "=am"(status) :: "memory");
    return (status & 1) | (status >> 1 & (GB_DIVIDE | GB_OVERFLOW));
}

#else

typedef struct gb_fp { fenv_t env; } gb_fp;
static inline void gb_fp_enter(gb_fp *saved) {
    fegetenv(&saved->env);
    fesetenv(FE_DFL_ENV);
}
static inline void gb_fp_leave(const gb_fp *saved) { fesetenv(&saved->env); }
static inline void gb_fp_clear(void) { feclearexcept(FE_ALL_EXCEPT); }
static inline int gb_fp_flags(void) {
    int f = fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    return (f & FE_INVALID ? GB_INVALID : 0) | (f & FE_DIVBYZERO ? GB_DIVIDE : 0) | (f & FE_OVERFLOW ? GB_OVERFLOW : 0);
}
static inline void gb_x87_clear(void) {}
static inline int gb_x87_flags(void) { return 0; }
#endif

#endif
