/* vector.h: what the kernels ask of a vector unit: load 16 bytes of several rows into the lanes of a vector, interleave two
 * vectors lane by lane, store, and store past the caches. */
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
#define LOW1 _mm_unpacklo_epi8
#define HIGH1 _mm_unpackhi_epi8
#define LOW2 _mm_unpacklo_epi16
#define HIGH2 _mm_unpackhi_epi16
#define LOW4 _mm_unpacklo_epi32
#define HIGH4 _mm_unpackhi_epi32
#define LOW8 _mm_unpacklo_epi64
#define HIGH8 _mm_unpackhi_epi64

#elif GB_COPY_VECTOR == 32
#include <immintrin.h>
typedef __m256i vec;
#define ROW(row, x, i) _mm_loadu_si128((const __m128i *)((row)[i] + (x)))
#define ROWS(row, x, n) _mm256_inserti128_si256(_mm256_castsi128_si256(ROW(row, x, 0)), ROW(row, x, n), 1)
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STREAM(p, v) _mm256_stream_si256((__m256i *)(p), v)
#define LOW1 _mm256_unpacklo_epi8
#define HIGH1 _mm256_unpackhi_epi8
#define LOW2 _mm256_unpacklo_epi16
#define HIGH2 _mm256_unpackhi_epi16
#define LOW4 _mm256_unpacklo_epi32
#define HIGH4 _mm256_unpackhi_epi32
#define LOW8 _mm256_unpacklo_epi64
#define HIGH8 _mm256_unpackhi_epi64

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
#define STREAM_LINE(p, v)                                                                                             \
    __asm__("stnp %q1, %q2, [%0]\n\tstnp %q3, %q4, [%0, #32]" : : "r"(p), "w"((v)[0]), "w"((v)[1]), "w"((v)[2]), "w"((v)[3]) : "memory")
#define ZIP(name, a, b, width) vreinterpretq_u8_u##width(name##q_u##width(vreinterpretq_u##width##_u8(a), vreinterpretq_u##width##_u8(b)))
#define LOW1 vzip1q_u8
#define HIGH1 vzip2q_u8
#define LOW2(a, b) ZIP(vzip1, a, b, 16)
#define HIGH2(a, b) ZIP(vzip2, a, b, 16)
#define LOW4(a, b) ZIP(vzip1, a, b, 32)
#define HIGH4(a, b) ZIP(vzip2, a, b, 32)
#define LOW8(a, b) ZIP(vzip1, a, b, 64)
#define HIGH8(a, b) ZIP(vzip2, a, b, 64)

#else
typedef struct { uint64_t word[8]; } vec;
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
#define STREAM_LINE(p, v)                                                                                             \
    for (int line_ = 0; line_ < (int)(64 / sizeof(vec)); line_++) STREAM((p) + line_ * (int)sizeof(vec), (v)[line_])
#endif
