/* base.h: what makes loops those for every machine. */
#include "headers.h"
#ifdef __clang__
#pragma clang fp contract(fast)   /* as gcc does where the processor has fused instructions */
#else
#pragma GCC optimize("no-math-errno")
#endif
#define ISA(name) NAMED(name, base)
#define LANE_BYTES 16
#ifdef __x86_64__
#define UNROLL 0   /* x86 of the last ten years has AVX2 and never comes here: small rather than fast */
#else
#define UNROLL 1   /* NEON: this is the set that runs there */
#endif
