/* map.h: how much memory the machine has. Mapping itself is in heap.h. */
#ifndef GRIDBUF_MAP_H
#define GRIDBUF_MAP_H

#include <stdint.h>

int64_t gb_physical_memory(void);

#endif
