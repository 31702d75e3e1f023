/* kernels_body.h: the kernels, written once; a kernels_*.c includes this for its instruction set
 * with GB_COPY_VECTOR (bytes of a vector, 0: none), GB_COPY_NAME and GB_COPY_KERNELS defined. */
#include "casts.h"
#include "kernels.h"
#include "vector.h"

#define STEP ((int64_t)sizeof(vec))

/* ---- runs of bytes ---- */

static void copy_run(char *dst, const char *src, int64_t bytes) {
    if (bytes > 2048 || bytes < STEP) {
        memcpy(dst, src, (size_t)bytes);
        return;
    }
    int64_t i = 0;
    if (bytes >=
        8 * STEP) { /* no store crosses a line from here on: a row of 1 kB takes a tenth less */
        STORE(dst, LOAD(src));
        i = (int64_t)(-(uintptr_t)dst & (uintptr_t)(STEP - 1));
    }
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
    for (; i <= bytes - 64; i += 64) {
        vec v[64 / sizeof(vec)];
        for (int j = 0; j < (int)(64 / sizeof(vec)); j++) v[j] = LOAD(src + i + j * STEP);
        STREAM_LINE(dst + i, v);
    }
    if (i < bytes) memcpy(dst + i, src + i, (size_t)(bytes - i));
}

static inline void put_row(char *dst, const char *src, int64_t bytes) {
    int64_t i = 0;
    for (; i <= bytes - STEP; i += STEP) STORE(dst + i, LOAD(src + i));
    if (i == bytes) return;
    if (i) STORE(dst + bytes - STEP, LOAD(src + bytes - STEP));
    else memcpy(dst, src, (size_t)bytes);
}

static void put(char *dst, const int64_t *at, const char *scratch, int64_t pitch, int64_t n,
                int64_t bytes) {
    for (int64_t i = 0; i < n; i++) put_row(dst + at[i], scratch + i * pitch, bytes);
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
    char turned[128]; /* the value as it continues at the first whole line */
    memcpy(turned, value, 64);
    memcpy(turned + 64, value, 64);
    memcpy(dst, value, (size_t)head);
    vec v[64 / sizeof(vec)];
    memcpy(v, turned + head, 64);
    int64_t i = head;
    for (; i <= bytes - 64; i += 64) STREAM_LINE(dst + i, v);
    memcpy(dst + i, turned + head, (size_t)(bytes - i));
}

/* ---- conversions ---- */

#ifdef GB_COPY_DEFINES_CASTS
EACH_PAIR(DEFINE_CAST)
const gb_copy_cast_fn GB_COPY_CASTS[GB_TYPES][GB_TYPES] = {EACH_PAIR(CAST_ENTRY)};
#endif

const gb_copy_kernels GB_COPY_KERNELS = {
    GB_COPY_NAME, GB_COPY_TRANSPOSES, put,         copy_run,
    stream_run,   fill_run,           fill_stream, GB_COPY_CASTS,
};
