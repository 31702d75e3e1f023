/* system.h: the machine and the process as every room sees them: environment, forks, control
 * groups, the clock, pages and mappings, instruction sets. */
#pragma once

#include <stdint.h>
#include <time.h>

/* ---- the process ---- */

extern int gb_debugging; /* GRIDBUF_DEBUG=1: guards and poison around every block */
extern int gb_forked;    /* forks between this process and the one that loaded the library */

/* The environment's value now, NULL: none. A program may change it while it runs. The other rooms
 * read the environment through this function alone. */
const char *gb_setting(const char *variable);
int gb_setting_is(const char *variable, const char *value);

/* The least limit (0: none) that the control groups of this process, and the groups above them, set
 * for a controller ("cpu", "memory"). limit_of reads one folder, 0: no limit there. The root is ""
 * but in tests. */
enum { GB_GROUP_PATH = 8192 }; /* bytes of a folder's path */
double gb_group_limit(const char *root, const char *controller,
                      double (*limit_of)(const char *folder));

/* ---- time ---- */

/* The clock for slices of long work and bounded waits. */
static inline int64_t gb_nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int64_t gb_heap_seconds(void); /* coarser and cheaper; never goes back */

/* ---- memory ---- */

/* Powers of two, in bytes, asked as the library is loaded. Pages have 4 KiB on x86, and 4, 16 or
 * 64 KiB on ARM and POWER; a transparent huge page then has 2, 32 or 512 MiB. */
extern int64_t gb_heap_page_bytes;
extern int64_t gb_heap_huge_bytes;
extern int64_t gb_heap_huge_boundary; /* where large mappings start: on a huge page, unless those
                                         are too large to be wanted */

int64_t gb_heap_physical_memory(void);
void *gb_heap_map(int64_t bytes); /* zero pages; NULL with errno set */
void gb_heap_unmap(void *memory, int64_t bytes);

/* Replace the whole pages within the bytes, from *from to *to, by zero pages; 0: not possible. */
int gb_heap_discard(void *memory, int64_t bytes, void **from, void **to);

/* ---- instruction sets ---- */

/* Functions between GB_TARGET("avx2,fma"), names as gcc and clang write them, and GB_TARGET_END are
 * compiled for that instruction set. Headers with inline functions for any processor are included
 * before it. */
#define GB_PRAGMA(...) _Pragma(#__VA_ARGS__)
#ifdef __clang__
#define GB_TARGET(isa) \
    GB_PRAGMA(clang attribute push(__attribute__((target(isa))), apply_to = function))
#define GB_TARGET_END GB_PRAGMA(clang attribute pop)
#else
#define GB_TARGET(isa) GB_PRAGMA(GCC target(isa))
#define GB_TARGET_END
#endif
