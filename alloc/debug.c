/* debug.c: what GRIDBUF_DEBUG=1 adds: guard bytes behind every buffer, poison in every
 * free one. A write past the end is noticed when the buffer is freed, a write into
 * freed memory when it is used again; each is told once, on standard error, with the
 * buffer's number and where it was made. */
#include "slab.h"

#include <stdio.h>
#include <string.h>

#define GUARD 0xFD
#define POISON 0xDB

int gb_debugging;

/* The last bytes of a block say how long its data is and who used it last. */
typedef struct { int64_t span; uint64_t id; char note[48]; } trailer;

static char *end_of(gb_header *h) { return (char *)h + h->slab->block; }

static trailer *trailer_of(gb_header *h) { return (trailer *)(end_of(h) - sizeof(trailer)); }

static const char *first_other(const char *p, const char *end, int expected) {
    while (p < end && (unsigned char)*p == expected) p++;
    return p < end ? p : NULL;
}

static void tell(const char *what, uint64_t id, long long at, long long size, const char *note) {
    fprintf(stderr, "gridbuf: %s buffer #%llu of %lld bytes, at byte %lld%s%s\n", what, (unsigned long long)id, size, at,
            note && *note ? "; it was made at " : " (GRIDBUF_TRACE=1 says where it was made)", note && *note ? note : "");
}

void gb_debug_taken(gb_header *h, int64_t span, int fresh) {
    trailer *t = trailer_of(h);
    char *lowest = (char *)(h + 1);
    if (!fresh) {
        const char *bad = first_other(lowest, (char *)t, POISON);
        if (bad) tell("write into freed", t->id, bad - (char *)h, t->span, t->note);
        memset(lowest, POISON, (char *)t - lowest);
    }
    t->span = span;
    memset(h->data + span, GUARD, (char *)t - (h->data + span));
}

void gb_debug_released(gb_header *h) {
    trailer *t = trailer_of(h);
    const char *bad = first_other(h->data + t->span, (char *)t, GUARD);
    if (bad) tell("write past the end of", h->id, bad - h->data, t->span, h->note);
    t->id = h->id;
    t->note[0] = 0;
    if (h->note) snprintf(t->note, sizeof t->note, "%s", h->note);
    memset(h + 1, POISON, (char *)t - (char *)(h + 1));
}
