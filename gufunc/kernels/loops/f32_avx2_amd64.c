/* f32_avx2_amd64.c: matrices of float32 for AVX2 and FMA, which take the compiler long. */
#include "f32.h"
#include "avx2.h"
#include "matrices_body.h"
GB_TARGET_END
