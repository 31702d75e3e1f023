/* map.c: memory from the system. Mappings of several huge pages start on a huge
 * page and ask for them: a page fault costs 2.4 us, so 42 MB in small pages costs
 * 25 ms before the first value is written.
 *
 * What is mapped, cut off, given back or discarded starts and ends on a page: the kernel
 * refuses any other start, and rounds any other length up, past what is ours. */
#define _GNU_SOURCE
#include "map.h"
#include "pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int64_t whole_pages(int64_t bytes) {
    return (bytes + gb_heap_page_bytes - 1) & -gb_heap_page_bytes;
}

static void *map_plain(int64_t bytes) {
    void *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *gb_heap_map(int64_t bytes) {
    int64_t huge = gb_heap_huge_boundary;
    if (bytes > INT64_MAX - huge - gb_heap_page_bytes) return errno = ENOMEM, NULL;
    bytes = whole_pages(bytes);
    if (bytes < 2 * huge) return map_plain(bytes);
    char *p = map_plain(bytes + huge);
    if (!p) return NULL;
    char *start = (char *)(((uintptr_t)p + huge - 1) & ~(uintptr_t)(huge - 1));
    if (start > p) munmap(p, (size_t)(start - p));
    char *end = start + bytes, *mapped = p + bytes + huge;
    if (mapped > end) munmap(end, (size_t)(mapped - end));
#ifdef MADV_HUGEPAGE
    if (gb_heap_huge_bytes == huge || bytes < gb_heap_huge_bytes)
        madvise(start, (size_t)bytes, MADV_HUGEPAGE);
#endif
    return start;
}

void gb_heap_unmap(void *memory, int64_t bytes) { munmap(memory, (size_t)whole_pages(bytes)); }

int64_t gb_heap_physical_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES),
         size = sysconf(_SC_PAGESIZE); /* constructors ask, in any order */
    return pages > 0 && size > 0 ? (int64_t)pages * size : (int64_t)1 << 30;
}

int64_t gb_heap_seconds(void) {
    struct timespec now;
#ifdef CLOCK_MONOTONIC_COARSE
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return now.tv_sec;
}

int gb_heap_discard(void *memory, int64_t bytes, void **from, void **to) {
    uintptr_t page = (uintptr_t)gb_heap_page_bytes, first = ((uintptr_t)memory + page - 1) & -page,
              last = ((uintptr_t)memory + bytes) & -page;
    *from = (void *)first;
    *to = (void *)last;
#ifdef __linux__
    return last > first && madvise(*from, last - first, MADV_DONTNEED) == 0;
#else
    return 0; /* elsewhere MADV_DONTNEED may keep the contents */
#endif
}
