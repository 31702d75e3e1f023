/* live.c: the blocks in use, found by their address. */
#include "blocks.h"
#include "fork.h"

#include "../alloc/map.h"

static gb_cu_record **table;
static size_t slots, used; /* slots: a power of two */

static size_t slot_of(uint64_t data, size_t of) {
    return (size_t)(data * 0x9E3779B97F4A7C15u >> 32) & (of - 1);
}

static int grow(void) {
    size_t more = slots ? slots * 2 : 256;
    gb_cu_record **bigger = calloc(more, sizeof *bigger);
    if (!bigger) return slots ? 0 : -1; /* longer chains will do */
    for (size_t i = 0; i < slots; i++)
        for (gb_cu_record *r = table[i], *next; r; r = next) {
            gb_cu_record **to = &bigger[slot_of(r->block.data, more)];
            next = r->next;
            r->next = *to;
            *to = r;
        }
    free(table);
    table = bigger;
    slots = more;
    return 0;
}

int gb_cu_live_add(gb_cu_record *r) {
    pthread_mutex_lock(&gb_cu_live_lock);
    int bad = used >= slots && grow();
    if (!bad) {
        gb_cu_record **to = &table[slot_of(r->block.data, slots)];
        r->next = *to;
        *to = r;
        used++;
    }
    pthread_mutex_unlock(&gb_cu_live_lock);
    return bad ? -1 : 0;
}

void gb_cu_live_remove(gb_cu_record *r) {
    pthread_mutex_lock(&gb_cu_live_lock);
    gb_cu_record **link = &table[slot_of(r->block.data, slots)];
    while (*link != r) link = &(*link)->next;
    *link = r->next;
    used--;
    pthread_mutex_unlock(&gb_cu_live_lock);
}

gb_cu_record *gb_cu_live_next(gb_cu_record *r) {
    size_t i = 0;
    if (r) {
        if (r->next) return r->next;
        i = slot_of(r->block.data, slots) + 1;
    }
    while (i < slots && !table[i]) i++;
    return i < slots ? table[i] : NULL;
}

gb_cuda_block *gb_cuda_find(uint64_t data) {
    pthread_mutex_lock(&gb_cu_live_lock);
    gb_cu_record *r = slots ? table[slot_of(data, slots)] : NULL;
    while (r && r->block.data != data) r = r->next;
    pthread_mutex_unlock(&gb_cu_live_lock);
    return r ? &r->block : NULL;
}

/* A block whose last holder lets go of it at this moment is not found. */
gb_cuda_block *gb_cuda_find_shared(uint64_t data) {
    pthread_mutex_lock(&gb_cu_live_lock);
    gb_cu_record *r = slots ? table[slot_of(data, slots)] : NULL;
    while (r && r->block.data != data) r = r->next;
    int32_t shares = r ? __atomic_load_n(&r->shares, __ATOMIC_RELAXED) : 0;
    while (shares > 0 && !__atomic_compare_exchange_n(&r->shares, &shares, shares + 1, 0,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {}
    pthread_mutex_unlock(&gb_cu_live_lock);
    return shares > 0 ? &r->block : NULL;
}

/* Keep out sorted, largest first; the smallest falls off the end. */
static int64_t insert(gb_cuda_live *out, int64_t n, int64_t room, const gb_cu_record *r) {
    int64_t at = n;
    while (at > 0 && out[at - 1].block.bytes < r->block.bytes) at--;
    if (at == room) return n;
    memmove(&out[at + 1], &out[at], (size_t)((n < room ? n : room - 1) - at) * sizeof *out);
    out[at] =
        (gb_cuda_live){.block = r->block, .plan = r->plan, .age = gb_heap_seconds() - r->born};
    return n < room ? n + 1 : n;
}

int64_t gb_cuda_live_blocks(gb_cuda_live *out, int64_t room) {
    int64_t n = 0;
    if (room <= 0) return 0;
    pthread_mutex_lock(&gb_cu_live_lock);
    for (gb_cu_record *r = gb_cu_live_next(NULL); r; r = gb_cu_live_next(r))
        n = insert(out, n, room, r);
    pthread_mutex_unlock(&gb_cu_live_lock);
    return n;
}
