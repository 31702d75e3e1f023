/* vector.h: what the kernels ask of a vector unit: load 16 bytes of several rows into the lanes of
 * a vector, interleave two vectors lane by lane, store, and store past the caches. */
#pragma once

#include <stdint.h>
#include <string.h>

#if GB_COPY_VECTOR == 16 && defined(__x86_64__)
#include <immintrin.h>
typedef __m128i vec;
#define ROWS(row, x, n) _mm_loadu_si128((const __m128i *)((row)[0] + (x)))
#define STORE(p, v) _mm_storeu_si128((__m128i *)(p), v)
#define LOAD(p) _mm_loadu_si128((const __m128i *)(p))
#define STREAM(p, v) _mm_stream_si128((__m128i *)(p), v)
#define LOW(bits, a, b) _mm_unpacklo_epi##bits(a, b)
#define HIGH(bits, a, b) _mm_unpackhi_epi##bits(a, b)

#elif GB_COPY_VECTOR == 32
#include <immintrin.h>
typedef __m256i vec;
#define ROW(row, x, i) _mm_loadu_si128((const __m128i *)((row)[i] + (x)))
#define ROWS(row, x, n) \
    _mm256_inserti128_si256(_mm256_castsi128_si256(ROW(row, x, 0)), ROW(row, x, n), 1)
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STREAM(p, v) _mm256_stream_si256((__m256i *)(p), v)
#define LOW(bits, a, b) _mm256_unpacklo_epi##bits(a, b)
#define HIGH(bits, a, b) _mm256_unpackhi_epi##bits(a, b)

#elif GB_COPY_VECTOR == 64
#include <immintrin.h>
typedef __m512i vec;
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define LOAD(p) _mm512_loadu_si512(p)
#define STREAM(p, v) _mm512_stream_si512((void *)(p), v)

#elif GB_COPY_VECTOR == 16
#include <arm_neon.h>
typedef uint8x16_t vec;
#define ROWS(row, x, n) vld1q_u8((const uint8_t *)((row)[0] + (x)))
#define STORE(p, v) vst1q_u8((uint8_t *)(p), v)
#define LOAD(p) vld1q_u8((const uint8_t *)(p))
/* The store that says "not again soon" takes two vectors. */
#define STREAM_LINE(p, v)                                                \
    __asm__("stnp %q1, %q2, [%0]\n\tstnp %q3, %q4, [%0, #32]"            \
            :                                                            \
            : "r"(p), "w"((v)[0]), "w"((v)[1]), "w"((v)[2]), "w"((v)[3]) \
            : "memory")
#define vreinterpretq_u8_u8(v) (v)
#define ZIP(name, bits, a, b) \
    vreinterpretq_u8_u##bits( \
        name##q_u##bits(vreinterpretq_u##bits##_u8(a), vreinterpretq_u##bits##_u8(b)))
#define LOW(bits, a, b) ZIP(vzip1, bits, a, b)
#define HIGH(bits, a, b) ZIP(vzip2, bits, a, b)

#else
typedef struct {
    uint64_t word[8];
} vec;
#define STORE(p, v) memcpy(p, &(v), 64)
#define STREAM STORE
static inline vec LOAD(const void *p) {
    vec v;
    memcpy(&v, p, 64);
    return v;
}
#endif

/* A line of 64 bytes from its vectors, past the caches. */
#ifndef STREAM_LINE
#define STREAM_LINE(p, v)                                         \
    for (int line_ = 0; line_ < (int)(64 / sizeof(vec)); line_++) \
    STREAM((p) + line_ * (int)sizeof(vec), (v)[line_])
#endif
