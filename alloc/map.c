/* map.c: memory from the system. Mappings of several huge pages start on a huge
 * page and ask for them: a page fault costs 2.4 us, so 42 MB in small pages costs
 * 25 ms before the first value is written. */
#define _GNU_SOURCE
#include "heap.h"
#include "map.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define HUGE ((int64_t)2 << 20)

static void *map_plain(int64_t bytes) {
    void *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *gb_map(int64_t bytes) {
    if (bytes < 2 * HUGE) return map_plain(bytes);
    if (bytes > INT64_MAX - HUGE) return NULL;
    char *p = map_plain(bytes + HUGE);
    if (!p) return NULL;
    char *start = (char *)(((uintptr_t)p + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
    if (start > p) munmap(p, (size_t)(start - p));
    char *end = start + bytes, *mapped = p + bytes + HUGE;
    if (mapped > end) munmap(end, (size_t)(mapped - end));
#ifdef MADV_HUGEPAGE
    madvise(start, (size_t)bytes, MADV_HUGEPAGE);
#endif
    return start;
}

void gb_unmap(void *memory, int64_t bytes) { munmap(memory, (size_t)bytes); }

int64_t gb_physical_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages * size : (int64_t)1 << 30;
}

int64_t gb_seconds(void) {
    struct timespec now;
#ifdef CLOCK_MONOTONIC_COARSE
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return now.tv_sec;
}

int gb_discard(void *memory, int64_t bytes) {
#ifdef __linux__
    return bytes > 0 && madvise(memory, (size_t)bytes, MADV_DONTNEED) == 0;
#else
    return 0;   /* elsewhere MADV_DONTNEED may keep the contents */
#endif
}
