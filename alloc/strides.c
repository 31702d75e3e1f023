/* strides.c: one loop per size of element; the compiler cannot unroll what it does not know. */
#include "strides.h"

#include <string.h>

#define LOOP(word)                                \
    for (int64_t i = 0; i < n; i++) {             \
        word x;                                   \
        memcpy(&x, src + i * src_step, sizeof x); \
        memcpy(dst + i * dst_step, &x, sizeof x); \
    }                                             \
    break

typedef struct {
    uint64_t half[2];
} pair;

void gb_move_strided(char *dst, int64_t dst_step, const char *src, int64_t src_step, int64_t n,
                     int64_t item) {
    switch (item) {
    case 1: LOOP(uint8_t);
    case 2: LOOP(uint16_t);
    case 4: LOOP(uint32_t);
    case 8: LOOP(uint64_t);
    case 16: LOOP(pair);
    default:
        for (int64_t i = 0; i < n; i++)
            memcpy(dst + i * dst_step, src + i * src_step, (size_t)item);
    }
}
