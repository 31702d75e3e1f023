/* policy.c: decides how much free memory is kept, and where in its memory a large block begins. */
#include "slab.h"

#include <stdio.h>

#define heap gb_heap_state

/* ---- how much free memory is kept ----
 *
 * As much as was live at most (or 64 MiB), and no more than this process's share of the machine or
 * of its control group. GRIDBUF_CACHE says otherwise: that much when nothing is live, and half of
 * what is live beside it; 0 keeps nothing. Without that half, blocks of 1 to 32 MiB drawn at random
 * with 300 MiB live find no free memory one time in six instead of one in forty, and take three
 * times malloc's processor time (bench/mixed_sizes.py). */

#define LEAST ((int64_t)64 << 20)

/* Files are read for the share once so much is mapped, not by each import. */
#define ASKED ((int64_t)8 << 20)

static double group_memory(const char *folder) {
    static const char *const names[] = {"memory.max", "memory.limit_in_bytes"};
    double bytes = 0;
    for (int i = 0; i < 2 && bytes == 0; i++) {
        char path[GB_GROUP_PATH + 32];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FILE *f = fopen(path, "re");
        if (f && fscanf(f, "%lf", &bytes) != 1) bytes = 0; /* "max" */
        if (f) fclose(f);
    }
    return bytes < (double)GB_LARGEST ? bytes : 0;
}

/* Processes of an MPI program on this machine, as their launcher says. */
static int64_t ranks_here(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "PMI_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"};
    for (int i = 0; i < 4; i++) {
        const char *value = gb_setting(names[i]);
        int ranks = value ? atoi(value) : 0;
        if (ranks > 0) return ranks;
    }
    return 1;
}

int64_t gb_heap_memory_share(const char *root) {
    int64_t share = gb_heap_physical_memory() / 8;
    double group = gb_group_limit(root, "memory", group_memory) / 4;
    if (group > 0 && group < (double)share) share = (int64_t)group;
    return share / ranks_here();
}

void gb_heap_find_bound(void) {
    gb_spin_lock(&heap.lock);
    int known = heap.bound_is_known || heap.mapped_bytes < ASKED;
    gb_spin_unlock(&heap.lock);
    if (known) return;
    int64_t share = gb_heap_memory_share("");
    gb_spin_lock(&heap.lock);
    if (!heap.bound_is_known) heap.stats.cache_bound = share;
    heap.bound_is_known = 1;
    gb_spin_unlock(&heap.lock);
}

int64_t gb_heap_bound(void) {
    int64_t most = heap.stats.cache_bound, peak = heap.stats.peak_bytes;
    if (heap.bound_is_set) return most ? most + heap.stats.live_bytes / 2 : 0;
    if (peak < LEAST) peak = LEAST;
    return peak < most ? peak : most;
}

/* ---- where a large block begins ----
 *
 * Blocks of several huge pages start on one, so arrays of 30 MiB would lie 32 MiB apart, and there
 * a processor takes a line of one array for the same line of another: stencils took up to half as
 * long again (docs/placement.md). Measured as slow: distances of a multiple of 32 MiB, also with 12
 * KiB added. Measured as good: 68 KiB or 2 MiB added.
 *
 * A block of more than two MiB therefore has places 68 KiB apart, in a 32nd of its size. It is
 * counted by its address modulo 32 MiB while it is in use, and a block that is taken, new or used
 * before, goes to its place with the fewest others near. GRIDBUF_PLACEMENT=packed leaves one place.
 */
#define ALIASES ((uintptr_t)32 << 20) /* distances that are multiples of this are slow */
#define NEAR                                                                            \
    ((uintptr_t)16 << 10) /* bytes counted together, with three of these on either side \
                           */
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
    int32_t first = s->colour % GB_HEAP_COLOURS;
    int32_t best = s->colour; /* of equals the place it had: its pages are there */
    uint32_t fewest = others_near((uintptr_t)gb_heap_data_in(want, block, best));
    for (int64_t to = 0; to <= room && fewest; to += STEP) {
        uint32_t n = others_near((uintptr_t)gb_heap_data_in(want, block, first + to));
        if (n >= fewest) continue;
        fewest = n;
        best = (int32_t)(first + to);
    }
    s->colour = best;
    s->placed = 1;
    ++*count_of((uintptr_t)gb_heap_data_in(want, block, best));
}

void gb_heap_leave_place(gb_heap_header *h) {
    --*count_of((uintptr_t)h->data);
    h->slab->placed = 0;
}

__attribute__((constructor)) static void ask_placement(void) {
    packed = gb_setting_is("GRIDBUF_PLACEMENT", "packed");
}
