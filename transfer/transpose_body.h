/* transpose_body.h: transposing a tile into a scratch buffer, written once; kernels_*.c include
 * this as they include kernels_body.h, with GB_COPY_TRANSPOSES defined as the name of the table. */
#include "kernels.h"
#include "vector.h"

#define SCALAR(word, size)                                                                 \
    static void corner##size(char *out, int64_t pitch, const char *src, const int64_t *at, \
                             int64_t n_a, int64_t n_b) {                                   \
        for (int64_t a = 0; a < n_a; a++)                                                  \
            for (int64_t b = 0; b < n_b; b++) {                                            \
                word x;                                                                    \
                memcpy(&x, src + at[a] + b * size, size);                                  \
                memcpy(out + b * pitch + a * size, &x, size);                              \
            }                                                                              \
    }

SCALAR(uint8_t, 1)
SCALAR(uint16_t, 2)
SCALAR(uint32_t, 4)
SCALAR(uint64_t, 8)
typedef struct {
    uint64_t half[2];
} pair;
SCALAR(pair, 16)

#if GB_COPY_VECTOR
#define LANES ((int)sizeof(vec) / 16)

/* One block: each lane holds 16 bytes of a row; log2(16 / size) rounds of interleaving turn rows
 * into columns. */
#define BLOCK(size, bits)                                                                          \
    static inline void block##size(char *out, int64_t pitch, const char *const *row, int64_t x) {  \
        enum { N = 16 / size };                                                                    \
        vec v[N], w[N];                                                                            \
        for (int i = 0; i < N; i++) v[i] = ROWS(row + i, x, N);                                    \
        for (int round = N; round > 1; round /= 2) {                                               \
            for (int i = 0; i < N / 2; i++) {                                                      \
                w[2 * i] = LOW(bits, v[i], v[i + N / 2]);                                          \
                w[2 * i + 1] = HIGH(bits, v[i], v[i + N / 2]);                                     \
            }                                                                                      \
            for (int i = 0; i < N; i++) v[i] = w[i];                                               \
        }                                                                                          \
        for (int i = 0; i < N; i++) STORE(out + i * pitch, v[i]);                                  \
    }                                                                                              \
    /* Blocks at the far ends overlap their neighbours: writing an element twice costs less than a \
     * scalar edge. */                                                                             \
    static void transpose##size(char *out, int64_t pitch, const char *src, const int64_t *at,      \
                                int64_t n_a, int64_t n_b) {                                        \
        enum { N = 16 / size };                                                                    \
        const int64_t rows = N * LANES;                                                            \
        if (n_a < rows || n_b < N) {                                                               \
            corner##size(out, pitch, src, at, n_a, n_b);                                           \
            return;                                                                                \
        }                                                                                          \
        for (int64_t a = 0; a < n_a; a += rows) {                                                  \
            if (a > n_a - rows) a = n_a - rows;                                                    \
            const char *row[N * LANES];                                                            \
            for (int i = 0; i < N * LANES; i++) row[i] = src + at[a + i];                          \
            char *to = out + a * size;                                                             \
            int64_t b = 0;                                                                         \
            for (; b <= n_b - N; b += N, to += N * pitch) block##size(to, pitch, row, b * size);   \
            if (b < n_b)                                                                           \
                block##size(out + (n_b - N) * pitch + a * size, pitch, row, (n_b - N) * size);     \
        }                                                                                          \
    }

BLOCK(1, 8)
BLOCK(2, 16)
BLOCK(4, 32)
BLOCK(8, 64)
const gb_copy_transpose_fn GB_COPY_TRANSPOSES[5] = {transpose1, transpose2, transpose4, transpose8,
                                                    corner16};
#else
const gb_copy_transpose_fn GB_COPY_TRANSPOSES[5] = {corner1, corner2, corner4, corner8, corner16};
#endif
