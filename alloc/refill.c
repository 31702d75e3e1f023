/* refill.c: memory from the system for the heap, and back. */
#include "bound.h"
#include "extents.h"
#include "heap.h"
#include "magazine.h"
#include "map.h"
#include "pages.h"

#define heap gb_heap_state
#define LARGEST_ARENA ((int64_t)256 << 20)

/* Bytes to map for a request: an eighth of what there is, in huge pages where they fit. Blocks of
 * one mapping can be joined to larger sizes; pages that were never written take no memory. */
static int64_t arena_bytes(int64_t bytes) {
    int64_t huge = gb_heap_huge_boundary, most = gb_heap_bound() / 4, arena = heap.mapped_bytes / 8;
    if (arena > LARGEST_ARENA) arena = LARGEST_ARENA;
    if (arena > most) arena = most;
    arena &= arena >= 2 * huge ? -huge : -gb_heap_page_bytes;
    return arena > bytes && !gb_debugging ? arena : bytes;
}

int gb_heap_refill(int64_t reserve) {
    int64_t bytes = gb_heap_slab_bytes(reserve);
    gb_heap_find_bound();
    gb_spin_lock(&heap.lock);
    gb_heap_join(0);
    int found = gb_heap_cut(reserve, bytes);
    if (!found) {
        gb_heap_join(1);
        found = gb_heap_cut(reserve, bytes);
    }
    int64_t most = arena_bytes(bytes);
    gb_spin_unlock(&heap.lock);
    if (found) return 0;
    void *memory = gb_heap_map(most);
    if (!memory && most > bytes) memory = gb_heap_map(most = bytes);
    if (!memory && gb_heap_trim(0) > 0) memory = gb_heap_map(most = bytes);
    if (!memory) return -1;
    if (gb_heap_add_slab(reserve, memory, most) == 0) return 0;
    gb_heap_unmap(memory, most);
    return -1;
}

int64_t gb_heap_trim(int64_t keep) {
    gb_heap_lock_all();
    gb_heap_empty_magazines();
    gb_heap_slab *gone = gb_heap_detach(keep);
    gb_heap_unlock_all();
    return gb_heap_destroy(gone);
}
