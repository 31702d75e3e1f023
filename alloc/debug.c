/* debug.c: blocks in use, listed; and with GRIDBUF_DEBUG=1 guard bytes behind every buffer, poison
 * in every free one. A write past the end is noticed when the buffer is freed, a write into freed
 * memory when it is used again or given back, and both when the process ends; each is reported
 * once, on standard error, with the buffer's number, what it was and where it was made. */
#include "slab.h"

#include <stdio.h>
#include <string.h>

#define heap gb_heap_state

/* ---- guards and poison ---- */

#define GUARD 0xFD
#define POISON 0xDB

/* Trailer: the last bytes of a block say where its data lies and which buffer used it last. */
typedef struct {
    int64_t span, lead;
    uint64_t id;
    char note[GB_HEAP_TRAILER - GB_HEAP_BLOCK_ALIGN - 24];
} trailer;

/* A free block's header has no slab: its link is there. */
static trailer *trailer_of(gb_heap_header *h, gb_heap_slab *s) {
    return (trailer *)((char *)h + s->block - sizeof(trailer));
}

static const char *first_other(const char *p, const char *end, int expected) {
    while (p < end && (unsigned char)*p == expected) p++;
    return p < end ? p : NULL;
}

static void report(const char *what, uint64_t id, long long at, long long size, const char *note) {
    if (!note) note = "";
    int line = (int)strcspn(note, "\n");
    const char *plan = note[line] ? note + line + 1 : "";
    fprintf(stderr, "gridbuf: %s buffer #%llu of %lld bytes, at byte %lld%s%s%s%.*s\n", what,
            (unsigned long long)id, size, at, *plan ? ": " : "", plan,
            line ? "; it was made at " : "", line, note);
}

static void check_free(gb_heap_header *h, gb_heap_slab *s) {
    trailer *t = trailer_of(h, s);
    const char *bad = first_other((char *)(h + 1), (char *)t, POISON);
    if (bad) report("write into freed", t->id, bad - t->lead - (char *)h, t->span, t->note);
}

static void check_guard(gb_heap_header *h) {
    trailer *t = trailer_of(h, h->slab);
    const char *bad = first_other(h->data + t->span, (char *)t, GUARD);
    if (bad) report("write past the end of", h->id, bad - h->data, t->span, h->note);
}

void gb_heap_debug_taken(gb_heap_header *h, int64_t span, int fresh) {
    trailer *t = trailer_of(h, h->slab);
    if (!fresh) {
        check_free(h, h->slab);
        memset(h + 1, POISON, (char *)t - (char *)(h + 1));
    }
    t->span = span;
    t->lead = h->data - (char *)h;
    memset(h->data + span, GUARD, (char *)t - (h->data + span));
}

void gb_heap_debug_released(gb_heap_header *h) {
    trailer *t = trailer_of(h, h->slab);
    check_guard(h);
    t->id = h->id;
    t->note[0] = 0;
    if (h->note) snprintf(t->note, sizeof t->note, "%s", h->note);
    memset(h + 1, POISON, (char *)t - (char *)(h + 1));
}

void gb_heap_debug_slab(gb_heap_slab *s) {
    for (char *block = s->memory; block < s->bump; block += s->block) {
        gb_heap_header *h = (gb_heap_header *)block;
        if (h->magic == GB_HEAP_LIVE) {
            check_guard(h);
        } else {
            gb_heap_allow(block, block + s->block);
            check_free(h, s);
        }
    }
}

/* ---- blocks in use ---- */

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
    gb_spin_lock(&heap.lock);
    for (gb_heap_slab *s = heap.all; s && room > 0; s = s->after)
        for (char *block = s->memory; s->used && block < s->bump; block += s->block)
            if (((gb_heap_header *)block)->magic == GB_HEAP_LIVE)
                n = insert(out, n, room, (gb_heap_header *)block);
    gb_spin_unlock(&heap.lock);
    return n;
}
