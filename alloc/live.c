/* live.c: who holds what: the blocks in use, and where they were made. */
#include "heap.h"
#include "magazine.h"
#include "map.h"

#include <string.h>

#define heap gb_heap_state

void gb_heap_set_note(void *data, char *note) {
    gb_spin_lock(&heap.lock);
    gb_heap_header_of(data)->note = note;
    gb_spin_unlock(&heap.lock);
}

/* Keep out sorted, largest first; the smallest falls off the end. */
static int64_t insert(gb_heap_live *out, int64_t n, int64_t room, const gb_heap_header *h) {
    int64_t at = n;
    while (at > 0 && out[at - 1].bytes < h->slab->block) at--;
    if (at == room) return n;
    memmove(&out[at + 1], &out[at], (size_t)((n < room ? n : room - 1) - at) * sizeof *out);
    out[at] = (gb_heap_live){.id = h->id,
                             .plan = h->plan,
                             .bytes = h->slab->block,
                             .data = h->data,
                             .age = gb_heap_seconds() - h->born};
    if (h->note) {
        size_t line = strcspn(h->note, "\n"), most = sizeof out[at].note - 1;
        memcpy(out[at].note, h->note, line < most ? line : most);
    }
    return n < room ? n + 1 : n;
}

int64_t gb_heap_live_blocks(gb_heap_live *out, int64_t room) {
    int64_t n = 0;
    gb_heap_lock_all();
    for (gb_heap_slab *s = heap.all; s && room > 0; s = s->after)
        for (char *block = s->memory; s->used && block < s->bump; block += s->block)
            if (((gb_heap_header *)block)->magic == GB_HEAP_LIVE)
                n = insert(out, n, room, (gb_heap_header *)block);
    gb_heap_unlock_all();
    return n;
}
