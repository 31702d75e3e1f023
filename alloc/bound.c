/* bound.c: how much free memory the heap keeps: as much as was live at most, and no more than this
 * process's share of the machine or of its control group. GRIDBUF_CACHE says otherwise: so much
 * when nothing is live, and half of what is live beside it. Without that half, blocks of 1 to 32 MiB
 * drawn at random with 300 MiB live find no free memory one time in six instead of one in forty,
 * and take three times as much processor time as malloc (bench/mixed_sizes.py). 0 keeps nothing. */
#include "bound.h"
#include "map.h"
#include "numbers.h"
#include "process.h"
#include "slab.h"

#include <stdio.h>

#define heap gb_heap_state
#define LEAST ((int64_t)64 << 20) /* kept whatever was live */
#define ASKED                                                                                     \
    ((int64_t)8 << 20) /* files are read for the share once so much is mapped, not by each import \
                        */

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
        const char *says = gb_setting(names[i]);
        int ranks = says ? atoi(says) : 0;
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
