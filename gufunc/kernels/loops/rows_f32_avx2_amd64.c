/* rows_f32_avx2_amd64.c: rows of float32 for AVX2 and FMA. */
#include "f32.h"
#include "avx2.h"
#include "lanes.h"
#include "rows_body.h"
#include "fold_body.h"
GB_TARGET_END
