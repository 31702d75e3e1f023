/* pages.c: asks the system how large its pages are. */
#define _GNU_SOURCE
#include "pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define USUAL ((int64_t)2 << 20)

/* With pages of 64 KiB a huge one is 512 MiB: whoever writes one value waits until all of it is
 * zeroed, and it is never given back in part. Such pages are not asked for, and nothing is aligned
 * to them. */
#define LARGEST_WANTED ((int64_t)32 << 20)

int64_t gb_heap_page_bytes = 4096, gb_heap_huge_bytes = USUAL, gb_heap_huge_boundary = USUAL;

static int64_t power_of_two(int64_t bytes, int64_t otherwise) {
    return bytes > 0 && (bytes & (bytes - 1)) == 0 ? bytes : otherwise;
}

static int64_t huge_page(void) {
    char text[32];
    int file = open("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", O_RDONLY | O_CLOEXEC);
    if (file < 0) return USUAL; /* no such pages: the boundary does no harm */
    ssize_t n = read(file, text, sizeof text - 1);
    close(file);
    text[n > 0 ? n : 0] = 0;
    return power_of_two(strtoll(text, NULL, 10), USUAL);
}

__attribute__((constructor)) static void ask(void) {
    gb_heap_page_bytes = power_of_two(sysconf(_SC_PAGESIZE), 4096);
    gb_heap_huge_bytes = huge_page();
    gb_heap_huge_boundary = gb_heap_huge_bytes <= LARGEST_WANTED ? gb_heap_huge_bytes : USUAL;
    if (gb_heap_huge_boundary < gb_heap_page_bytes) gb_heap_huge_boundary = gb_heap_page_bytes;
}
