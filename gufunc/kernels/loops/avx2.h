/* avx2.h: what makes loops those for AVX2 and FMA. */
#include "headers.h"
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("no-math-errno")
#pragma GCC target("avx2,fma")
#endif
#define ISA(name) NAMED(name, avx2)
#define LANE_BYTES 32
#define UNROLL 1
