/* kernels_plain.c: the kernels of the compiler's baseline (SSE2 on x86-64, NEON on arm64), and the
 * choice of this processor's. */
#if defined(__x86_64__)
#define GB_COPY_VECTOR 16
#define GB_COPY_NAME "sse2"
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define GB_COPY_VECTOR 16
#define GB_COPY_NAME "neon"
#else
#define GB_COPY_VECTOR 0
#define GB_COPY_NAME "plain"
#endif
#define GB_COPY_KERNELS gb_copy_kernels_plain
#define GB_COPY_TRANSPOSES gb_copy_transposes_plain
#define GB_COPY_CASTS gb_copy_casts_plain
#define GB_COPY_DEFINES_CASTS
#include "transpose_body.h"
#include "kernels_body.h"

/* ---- this processor ---- */

extern const gb_copy_kernels gb_copy_kernels_avx2, gb_copy_kernels_avx512;

const gb_copy_kernels *gb_copy_kernels_here = &gb_copy_kernels_plain;

static const gb_copy_kernels *known(int i) {
    switch (i) {
    case 0: return &gb_copy_kernels_plain;
#ifdef __x86_64__
    case 1: return __builtin_cpu_supports("avx2") ? &gb_copy_kernels_avx2 : NULL;
    case 2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avx512f") &&
                       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512vl")
                   ? &gb_copy_kernels_avx512
                   : NULL;
#endif
    }
    return NULL;
}

#ifdef __x86_64__
/* Here, and not where they are defined: any processor runs this. */
static void fill_in_casts(void) {
    memcpy(gb_copy_casts_avx512, gb_copy_casts_avx2, sizeof gb_copy_casts_avx512);
    for (const gb_copy_wide_cast *wide = gb_copy_wide_casts; wide->cast; wide++)
        gb_copy_casts_avx512[wide->to][wide->from] = wide->cast;
}
#endif

__attribute__((constructor)) static void look(void) {
#ifdef __x86_64__
    __builtin_cpu_init();
    fill_in_casts();
#endif
    for (int i = 0; i < 3; i++)
        if (known(i)) gb_copy_kernels_here = known(i);
}

static int64_t cache_bytes; /* 0: not asked yet */

/* Linux says what one core can reach; glibc's sysconf adds up caches that it cannot. */
int64_t gb_copy_shared_cache(void) {
    int64_t bytes = __atomic_load_n(&cache_bytes, __ATOMIC_RELAXED);
    if (bytes) return bytes;
    long kib = 0;
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    if (f) {
        if (fscanf(f, "%ldK", &kib) != 1) kib = 0;
        fclose(f);
    }
    bytes = kib >= 1024 ? (int64_t)kib << 10 : 32 << 20;
    gb_copy_assume_cache(bytes);
    return bytes;
}

void gb_copy_assume_cache(int64_t bytes) {
    __atomic_store_n(&cache_bytes, bytes, __ATOMIC_RELAXED);
}

void gb_copy_stream_fence(void) {
#ifdef __x86_64__
    __builtin_ia32_sfence();
#endif
}

const char *gb_copy_kernels_name(void) { return gb_copy_kernels_here->name; }

int gb_copy_kernels_use(const char *name) {
    for (int i = 0; i < 3; i++)
        if (known(i) &&
            (strcmp(name, known(i)->name) == 0 || (i == 0 && strcmp(name, "plain") == 0)))
            return gb_copy_kernels_here = known(i), 0;
    return -1;
}
