/* pages.h: how large the system's pages are. 4 KiB on x86, 4, 16 or 64 KiB on ARM and POWER: asked
 * once, as the library is loaded, and assumed nowhere. */
#pragma once

#include <stdint.h>

/* Powers of two, in bytes. */
extern int64_t gb_heap_page_bytes;
extern int64_t gb_heap_huge_bytes; /* a transparent huge page: 2 MiB, or 32 or 512 MiB where pages
                                      are larger */
extern int64_t gb_heap_huge_boundary; /* where large mappings start: on a huge page, unless those
                                         are too large to be wanted */
