/* kernels_body.h: the kernels, written once; a kernels_*.c includes this for its instruction set with GB_VECTOR (bytes
 * of a vector, 0: none), GB_NAME and GB_KERNELS defined. */
#include "casts.h"
#include "kernels.h"
#include "vector.h"

#define STEP ((int64_t)sizeof(vec))

/* ---- transposing into a scratch buffer ---- */

#define SCALAR(word, size)                                                                                    \
    static void corner##size(char *out, int64_t pitch, const char *src, const int64_t *at, int64_t n_a,       \
                             int64_t n_b) {                                                                   \
        for (int64_t a = 0; a < n_a; a++)                                                                     \
            for (int64_t b = 0; b < n_b; b++) {                                                               \
                word x;                                                                                       \
                memcpy(&x, src + at[a] + b * size, size);                                                     \
                memcpy(out + b * pitch + a * size, &x, size);                                                 \
            }                                                                                                 \
    }

SCALAR(uint8_t, 1)
SCALAR(uint16_t, 2)
SCALAR(uint32_t, 4)
SCALAR(uint64_t, 8)
typedef struct { uint64_t half[2]; } pair;
SCALAR(pair, 16)

#if GB_VECTOR
#define LANES ((int64_t)sizeof(vec) / 16)

/* One block: each lane holds 16 bytes of a row; log2(16 / size) rounds of interleaving turn rows into columns. */
#define BLOCK(size)                                                                                           \
    static inline void block##size(char *out, int64_t pitch, const char *src, const int64_t *at) {            \
        enum { N = 16 / size };                                                                               \
        vec v[N], w[N];                                                                                       \
        for (int i = 0; i < N; i++) v[i] = ROWS(src, at + i, N);                                              \
        for (int round = N; round > 1; round /= 2) {                                                          \
            for (int i = 0; i < N / 2; i++) {                                                                 \
                w[2 * i] = LOW##size(v[i], v[i + N / 2]);                                                     \
                w[2 * i + 1] = HIGH##size(v[i], v[i + N / 2]);                                                \
            }                                                                                                 \
            for (int i = 0; i < N; i++) v[i] = w[i];                                                          \
        }                                                                                                     \
        for (int i = 0; i < N; i++) STORE(out + i * pitch, v[i]);                                             \
    }                                                                                                         \
    /* Blocks at the far ends overlap their neighbours: writing an element twice costs less than a scalar edge. */ \
    static void transpose##size(char *out, int64_t pitch, const char *src, const int64_t *at, int64_t n_a,    \
                                int64_t n_b) {                                                                \
        enum { N = 16 / size };                                                                               \
        const int64_t rows = N * LANES;                                                                       \
        if (n_a < rows || n_b < N) {                                                                          \
            corner##size(out, pitch, src, at, n_a, n_b);                                                      \
            return;                                                                                           \
        }                                                                                                     \
        for (int64_t a = 0; a < n_a; a += rows) {                                                             \
            if (a > n_a - rows) a = n_a - rows;                                                               \
            int64_t b = 0;                                                                                    \
            for (; b <= n_b - N; b += N) block##size(out + b * pitch + a * size, pitch, src + b * size, at + a); \
            if (b < n_b) b = n_b - N, block##size(out + b * pitch + a * size, pitch, src + b * size, at + a); \
        }                                                                                                     \
    }

BLOCK(1)
BLOCK(2)
BLOCK(4)
BLOCK(8)
#define TRANSPOSES {transpose1, transpose2, transpose4, transpose8, corner16}
#else
#define TRANSPOSES {corner1, corner2, corner4, corner8, corner16}
#endif

/* ---- runs of bytes ---- */

static void copy_run(char *dst, const char *src, int64_t bytes) {
    if (bytes > 2048 || bytes < STEP) {
        memcpy(dst, src, (size_t)bytes);
        return;
    }
    int64_t i = 0;
    for (; i <= bytes - STEP; i += STEP) STORE(dst + i, LOAD(src + i));
    if (i < bytes) STORE(dst + bytes - STEP, LOAD(src + bytes - STEP));
}

/* Streamed stores write whole lines only; the ends go through the caches. */
static void stream_run(char *dst, const char *src, int64_t bytes) {
    int64_t head = (int64_t)(-(uintptr_t)dst & 63);
    if (bytes < head + 64) {
        copy_run(dst, src, bytes);
        return;
    }
    if (head) memcpy(dst, src, (size_t)head);
    int64_t i = head;
    for (; i <= bytes - 64; i += 64)
        for (int64_t j = 0; j < 64; j += STEP) STREAM(dst + i + j, LOAD(src + i + j));
    if (i < bytes) memcpy(dst + i, src + i, (size_t)(bytes - i));
}

static void fill_run(char *dst, const char *value, int64_t bytes) {
    vec v[64 / sizeof(vec)];
    memcpy(v, value, 64);
    int64_t i = 0;
    for (; i <= bytes - 64; i += 64)
        for (int64_t j = 0; j < 64 / STEP; j++) STORE(dst + i + j * STEP, v[j]);
    memcpy(dst + i, value, (size_t)(bytes - i));
}

static void fill_stream(char *dst, const char *value, int64_t bytes) {
    int64_t head = (int64_t)(-(uintptr_t)dst & 63);
    if (bytes < head + 64) {
        fill_run(dst, value, bytes);
        return;
    }
    char turned[128];   /* the value as it continues at the first whole line */
    memcpy(turned, value, 64);
    memcpy(turned + 64, value, 64);
    memcpy(dst, value, (size_t)head);
    vec v[64 / sizeof(vec)];
    memcpy(v, turned + head, 64);
    int64_t i = head;
    for (; i <= bytes - 64; i += 64)
        for (int64_t j = 0; j < 64 / STEP; j++) STREAM(dst + i + j * STEP, v[j]);
    memcpy(dst + i, turned + head, (size_t)(bytes - i));
}

/* ---- conversions ---- */

EACH_PAIR(DEFINE_CAST)
static gb_cast_fn cast_table[GB_TYPES][GB_TYPES] = { EACH_PAIR(CAST_ENTRY) };

const gb_kernels GB_KERNELS = {
    GB_NAME, TRANSPOSES, copy_run, stream_run, fill_run, fill_stream, cast_table,
};
