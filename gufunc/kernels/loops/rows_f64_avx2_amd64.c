/* rows_f64_avx2_amd64.c: rows of float64 for AVX2 and FMA. */
#include "f64.h"
#include "avx2.h"
#include "lanes.h"
#include "rows_body.h"
#include "fold_body.h"
GB_TARGET_END
