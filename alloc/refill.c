/* refill.c: memory from the system for the heap, and back. */
#include "heap.h"
#include "magazine.h"
#include "map.h"

int gb_heap_refill(int64_t reserve) {
    int64_t bytes = gb_heap_slab_bytes(reserve);
    void *memory = gb_heap_map(bytes);
    if (!memory && gb_heap_trim(0) > 0) memory = gb_heap_map(bytes);
    if (!memory) return -1;
    if (gb_heap_add_slab(reserve, memory, bytes) == 0) return 0;
    gb_heap_unmap(memory, bytes);
    return -1;
}

int64_t gb_heap_trim(int64_t keep) {
    gb_heap_lock_all();
    gb_heap_empty_magazines();
    gb_heap_slab *gone = gb_heap_detach(keep);
    gb_heap_unlock_all();
    return gb_heap_destroy(gone);
}
