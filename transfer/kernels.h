/* kernels.h: jobs, which plan.c decides and run.c carries out, and their inner loops, compiled once
 * per instruction set (kernels_body.h). */
#pragma once

#include "axes.h"

/* Reads n_a runs of n_b neighbouring elements, the i-th from src + at[i], and writes them
 * transposed: element j of run i to out + j * pitch + i * itemsize. */
typedef void (*gb_copy_transpose_fn)(char *out, int64_t pitch, const char *src, const int64_t *at,
                                     int64_t n_a, int64_t n_b);

typedef struct gb_copy_kernels {
    const char *name;
    const gb_copy_transpose_fn *transpose; /* by log2 of the itemsize, 1 to 16 */
    /* n rows of a scratch buffer to their places, dst + at[i]. */
    void (*put)(char *dst, const int64_t *at, const char *scratch, int64_t pitch, int64_t n,
                int64_t bytes);
    void (*copy)(char *dst, const char *src, int64_t bytes);
    void (*stream)(char *dst, const char *src, int64_t bytes); /* past the caches */
    void (*fill)(char *dst, const char *value,
                 int64_t bytes); /* a value of 64 bytes, repeated; also the first part of it */
    void (*fill_stream)(char *dst, const char *value, int64_t bytes);
    const gb_copy_cast_fn (*cast)[GB_TYPES]; /* [to][from]; NULL on the diagonal */
} gb_copy_kernels;

extern const gb_copy_transpose_fn gb_copy_transposes_plain[5], gb_copy_transposes_avx2[5];
extern const gb_copy_cast_fn gb_copy_casts_plain[GB_TYPES][GB_TYPES],
    gb_copy_casts_avx2[GB_TYPES][GB_TYPES];
extern gb_copy_cast_fn gb_copy_casts_avx512[GB_TYPES][GB_TYPES]; /* AVX2's, but for these: */
typedef struct gb_copy_wide_cast {
    int to, from;
    gb_copy_cast_fn cast;
} gb_copy_wide_cast;
extern const gb_copy_wide_cast gb_copy_wide_casts[]; /* ends with one of NULL */
extern const gb_copy_kernels *gb_copy_kernels_here;  /* set once, before main */
int64_t gb_copy_shared_cache(void);                  /* bytes of the last cache level */
void gb_copy_stream_fence(void); /* streamed stores become visible before what follows */

/* ---- jobs ---- */

enum gb_copy_job_kind {
    GB_COPY_MOVE,      /* rows dense on both sides */
    GB_COPY_STRIDED,   /* rows with gaps, no conversion */
    GB_COPY_CONVERT,   /* rows, converted */
    GB_COPY_REPEAT,    /* rows of one element each, repeated */
    GB_COPY_TRANSPOSE, /* through a scratch buffer */
    GB_COPY_FILL,
    GB_COPY_FILL_STRIDED,
    GB_COPY_SLIDE, /* within one piece of memory, in order */
};

#define GB_COPY_LINE 64            /* bytes of a cache line */
#define GB_COPY_SCRATCH (96 << 10) /* bytes of the largest transposed tile */

/* Bytes from one row of a transposed tile to the next in scratch memory. */
static inline int64_t gb_copy_pitch(int64_t elements, int64_t item) {
    return (elements * item + GB_COPY_LINE - 1) / GB_COPY_LINE * GB_COPY_LINE;
}

void gb_copy_job_plan(gb_copy_job *job, gb_copy_axes *axes, gb_copy_cast_fn cast, int64_t dst_item,
                      int shift);
