/* map.h: what the heap asks of the system. */
#pragma once

#include <stdint.h>

void *gb_heap_map(int64_t bytes); /* NULL with errno set */
void gb_heap_unmap(void *memory, int64_t bytes);

int64_t gb_heap_physical_memory(void);
int64_t gb_heap_seconds(void); /* a clock that never goes back */

/* The whole pages within the bytes, from *from to *to, become zero pages; 0: cannot. */
int gb_heap_discard(void *memory, int64_t bytes, void **from, void **to);
