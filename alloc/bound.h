/* bound.h: how many bytes of free memory are kept. */
#pragma once

#include <stdint.h>

/* An eighth of the machine's memory, or a quarter of what the control groups allow, over the ranks
 * of an MPI program here. The root of the file system is "" but in tests. */
int64_t gb_heap_memory_share(const char *root);

int64_t gb_heap_bound(void);   /* the caller holds the heap's lock */
void gb_heap_find_bound(void); /* asks the system once; the caller does not hold it */
