/* base.h: what makes loops those for every machine. */
#include "headers.h"
#define ISA(name) NAMED(name, base)
#define LANE_BYTES 16
#ifdef __x86_64__
#define UNROLL \
    0 /* x86 of the last ten years has AVX2 and never comes here: small rather than fast */
#else
#define UNROLL 1 /* NEON: this is the set that runs there */
#endif
