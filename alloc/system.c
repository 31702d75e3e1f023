/* system.c: the environment and control groups of the process, pages and mappings of the system. */
#define _GNU_SOURCE
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int gb_debugging, gb_forked;

const char *gb_setting(const char *variable) { return getenv(variable); }

int gb_setting_is(const char *variable, const char *value) {
    const char *found = gb_setting(variable);
    return found && strcmp(found, value) == 0;
}

/* ---- control groups, of both versions ---- */

static int lists(char *controllers, const char *wanted) {
    char *rest, *each = strtok_r(controllers, ",", &rest);
    for (; each; each = strtok_r(NULL, ",", &rest))
        if (strcmp(each, wanted) == 0) return 1;
    return 0;
}

/* The least limit of the group and those above it, up to the top: `length` characters of the
 * folder, which is cut on the way. */
static double least_limit(char *folder, size_t length, double (*limit_of)(const char *folder)) {
    double least = 0;
    for (;;) {
        double limit = limit_of(folder);
        if (limit > 0 && (least == 0 || limit < least)) least = limit;
        char *last = strrchr(folder + length, '/');
        if (!last) return least;
        *last = 0;
    }
}

double gb_group_limit(const char *root, const char *controller,
                      double (*limit_of)(const char *folder)) {
    char path[4200], line[4096];
    double least = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *groups = fopen(path, "re");
    while (groups && fgets(line, sizeof line, groups)) { /* "0::/path" or "4:cpu,cpuacct:/path" */
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group) continue;
        *group++ = 0;
        controllers++;
        char folder[GB_GROUP_PATH];
        int top = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root,
                           *controllers ? "/" : "", controllers);
        if (top >= (int)sizeof folder) continue;
        if (*controllers && !lists(controllers, controller)) continue;
        snprintf(folder + top, sizeof folder - (size_t)top, "%s", group);
        double limit = least_limit(folder, (size_t)top, limit_of);
        if (limit > 0 && (least == 0 || limit < least)) least = limit;
    }
    if (groups) fclose(groups);
    return least;
}

/* ---- pages ---- */

#define USUAL_HUGE ((int64_t)2 << 20)

/* Larger huge pages (512 MiB, with pages of 64 KiB) are not asked for, and nothing is aligned to
 * them: the first value written waits until all of one is zeroed, and no part is ever given back.
 */
#define LARGEST_HUGE ((int64_t)32 << 20)

int64_t gb_heap_page_bytes = 4096;
int64_t gb_heap_huge_bytes = USUAL_HUGE, gb_heap_huge_boundary = USUAL_HUGE;

static int64_t power_of_two(int64_t bytes, int64_t otherwise) {
    return bytes > 0 && (bytes & (bytes - 1)) == 0 ? bytes : otherwise;
}

static int64_t huge_page(void) {
    char text[32];
    int file = open("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", O_RDONLY | O_CLOEXEC);
    if (file < 0) return USUAL_HUGE; /* no huge pages: the boundary does no harm */
    ssize_t n = read(file, text, sizeof text - 1);
    close(file);
    text[n > 0 ? n : 0] = 0;
    return power_of_two(strtoll(text, NULL, 10), USUAL_HUGE);
}

__attribute__((constructor)) static void ask_pages(void) {
    gb_heap_page_bytes = power_of_two(sysconf(_SC_PAGESIZE), 4096);
    gb_heap_huge_bytes = huge_page();
    gb_heap_huge_boundary = gb_heap_huge_bytes <= LARGEST_HUGE ? gb_heap_huge_bytes : USUAL_HUGE;
    if (gb_heap_huge_boundary < gb_heap_page_bytes) gb_heap_huge_boundary = gb_heap_page_bytes;
}

int64_t gb_heap_physical_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES);
    long size = sysconf(_SC_PAGESIZE); /* other constructors may call this before ask_pages */
    return pages > 0 && size > 0 ? (int64_t)pages * size : (int64_t)1 << 30;
}

/* ---- mappings ----
 *
 * Mappings of several huge pages start on a huge page and ask for them: a page fault costs 2.4 us,
 * so 42 MB in small pages costs 25 ms before the first value is written. Bytes that are mapped, cut
 * off, given back or discarded start and end on a page: the kernel refuses any other start, and
 * rounds any other length up, into a neighbour's memory. */

static int64_t whole_pages(int64_t bytes) {
    return (bytes + gb_heap_page_bytes - 1) & -gb_heap_page_bytes;
}

static void *map_plain(int64_t bytes) {
    void *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *gb_heap_map(int64_t bytes) {
    int64_t huge = gb_heap_huge_boundary;
    if (bytes > INT64_MAX - huge - gb_heap_page_bytes) {
        errno = ENOMEM;
        return NULL;
    }
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

int gb_heap_discard(void *memory, int64_t bytes, void **from, void **to) {
    uintptr_t page = (uintptr_t)gb_heap_page_bytes;
    uintptr_t first = ((uintptr_t)memory + page - 1) & -page;
    uintptr_t last = ((uintptr_t)memory + bytes) & -page;
    *from = (void *)first;
    *to = (void *)last;
#ifdef __linux__
    return last > first && madvise(*from, last - first, MADV_DONTNEED) == 0;
#else
    return 0; /* elsewhere MADV_DONTNEED may keep the contents */
#endif
}

/* ---- time ---- */

int64_t gb_heap_seconds(void) {
    struct timespec now;
#ifdef CLOCK_MONOTONIC_COARSE
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return now.tv_sec;
}
