/* kernels_avx512.c: the kernels for x86-64 with AVX-512 (F, BW, DQ, VL). */
#if defined(__x86_64__)
#include "../alloc/system.h"
GB_TARGET("avx2,avx512f,avx512bw,avx512dq,avx512vl")
#define GB_COPY_VECTOR 64
#define GB_COPY_NAME "avx512"
#define GB_COPY_KERNELS gb_copy_kernels_avx512
/* Wider vectors gain nothing in transposes: the loads set the pace. */
#define GB_COPY_TRANSPOSES gb_copy_transposes_avx2
#define GB_COPY_CASTS gb_copy_casts_avx512
#include "kernels_body.h"

/* Where AVX2 has no instruction (64-bit integers to and from floats) or no masks (halves) these are
 * 2 to 5 times as fast, and those between the usual types a little, within a cache; the others are
 * AVX2's, which saves 60 KB. */
#define BOTH_WAYS(X, a, b) X(a, b) X(b, a)
#define WITH_FLOATS(X, a) BOTH_WAYS(X, a, F32) BOTH_WAYS(X, a, F64)
/* clang-format off */
#define EACH_WIDE(X) \
    WITH_FLOATS(X, F16) WITH_FLOATS(X, I64) WITH_FLOATS(X, U64) WITH_FLOATS(X, I32) \
    WITH_FLOATS(X, U8) WITH_FLOATS(X, BOOL) BOTH_WAYS(X, F32, F64) BOTH_WAYS(X, I32, I64) \
    BOTH_WAYS(X, F16, I8) BOTH_WAYS(X, F16, I16) BOTH_WAYS(X, F16, I32) BOTH_WAYS(X, F16, I64) \
    BOTH_WAYS(X, F16, U8) BOTH_WAYS(X, F16, U16) BOTH_WAYS(X, F16, U32) BOTH_WAYS(X, F16, U64)
/* clang-format on */
#define ROW(D, S) {GB_##D, GB_##S, D##_from_##S},

EACH_WIDE(DEFINE_CAST)
gb_copy_cast_fn gb_copy_casts_avx512[GB_TYPES][GB_TYPES]; /* kernels_plain.c fills them in */
const gb_copy_wide_cast gb_copy_wide_casts[] = {EACH_WIDE(ROW){0, 0, NULL}};
GB_TARGET_END
#endif
