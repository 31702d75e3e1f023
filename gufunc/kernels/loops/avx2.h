/* avx2.h: what makes loops those for AVX2 and FMA. */
#include "headers.h"
GB_TARGET("avx2,fma")
#define ISA(name) NAMED(name, avx2)
#define LANE_BYTES 32
#define UNROLL 1
