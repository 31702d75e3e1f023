/* placement.c: decides where in its memory a large block's data begin.
 *
 * Blocks of several huge pages start on one, so arrays of 30 MiB would lie 32 MiB apart, and there
 * a processor takes a line of one array for the same line of another: stencils took up to half as
 * long again (docs/placement.md). Measured as slow: distances of a multiple of 32 MiB, also with 12
 * KiB added. Measured as good: 68 KiB or 2 MiB added.
 *
 * A block of more than two MiB therefore has places 68 KiB apart, in a 32nd of its size. It is
 * counted by its address modulo 32 MiB while it is in use, and a block that is taken, new or used
 * before, goes to its place with the fewest others near. GRIDBUF_PLACEMENT=packed leaves one place.
 * The caller holds the heap's lock. */
#include "process.h"
#include "slab.h"

#define ALIASES ((uintptr_t)32 << 20) /* distances that are multiples of this are slow */
#define NEAR       \
    ((uintptr_t)16 \
     << 10) /* bytes that are counted together: a block and three of these on either side */
#define COUNTS (ALIASES / NEAR)
#define STEP (68 << 10)
#define MOST_PLACES 15
#define SHARE 32 /* of a block's bytes one goes to places */

static uint32_t in_use[COUNTS];
static int packed;

int64_t gb_heap_placement_room(int64_t span, int64_t boundary) {
    int64_t places = span / SHARE / STEP;
    if (packed || boundary >= GB_HEAP_COLOURS) return 0;
    return (places < MOST_PLACES - 1 ? places : MOST_PLACES - 1) * STEP;
}

static uint32_t *count_of(uintptr_t at) { return &in_use[at / NEAR % COUNTS]; }

static uint32_t others_near(uintptr_t at) {
    uint32_t n = 0;
    for (int i = -3; i <= 3; i++) n += *count_of(at + (uintptr_t)i * NEAR);
    return n;
}

void gb_heap_place(const gb_heap_layout *want, gb_heap_slab *s, char *block) {
    int64_t room = gb_heap_placement_room(want->span, want->boundary);
    if (!room) return;
    int32_t best = s->colour,
            first = s->colour %
                    GB_HEAP_COLOURS; /* where it was is best of equals: its pages are there */
    uint32_t fewest = others_near((uintptr_t)gb_heap_data_in(want, block, best));
    for (int64_t to = 0; to <= room && fewest; to += STEP) {
        uint32_t n = others_near((uintptr_t)gb_heap_data_in(want, block, first + to));
        if (n < fewest) fewest = n, best = (int32_t)(first + to);
    }
    s->colour = best;
    s->placed = 1;
    ++*count_of((uintptr_t)gb_heap_data_in(want, block, best));
}

void gb_heap_leave_place(gb_heap_header *h) {
    --*count_of((uintptr_t)h->data);
    h->slab->placed = 0;
}

__attribute__((constructor)) static void ask(void) {
    packed = gb_setting_is("GRIDBUF_PLACEMENT", "packed");
}
