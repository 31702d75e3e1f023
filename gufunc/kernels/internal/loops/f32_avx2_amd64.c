/* f32_avx2_amd64.c: rows and matrices of float32 for AVX2 and FMA. */
#define SINGLE
#define AVX2 "avx2,fma"
#include "real.h"

#include "rows_body.h"
#include "matrices_body.h"
GB_TARGET_END
