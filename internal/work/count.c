/* count.c: how many threads, and from what size on they pay. */
#define _GNU_SOURCE
#include "../../alloc/system.h"
#include "work.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int chosen; /* 0: not set */

/* ---- control groups ---- */

/* Processors that the limits in one folder allow; 0: no limit. */
static double quota_of(const char *folder) {
    char path[GB_GROUP_PATH + 32];
    double quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *f = fopen(path, "re");
    if (f) { /* "max 100000" or "150000 100000" */
        int n = fscanf(f, "%lf %lf", &quota, &period);
        fclose(f);
        return n == 2 && quota > 0 && period > 0 ? quota / period : 0;
    }
    double *const into[] = {&quota, &period};
    static const char *const names[] = {"quota", "period"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/cpu.cfs_%s_us", folder, names[i]);
        f = fopen(path, "re");
        int n = f ? fscanf(f, "%lf", into[i]) : 0;
        if (f) fclose(f);
        if (n != 1) return 0;
    }
    return quota > 0 && period > 0 ? quota / period : 0;
}

double gb_work_cpu_quota(const char *root) { return gb_group_limit(root, "cpu", quota_of); }

/* ---- processors ---- */

static int processors(void) {
    static int allowed; /* by the control groups, asked once; 0: not yet */
    int n = 0, most = __atomic_load_n(&allowed, __ATOMIC_RELAXED);
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) n = CPU_COUNT(&set);
#endif
    if (n < 1) n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (!most) {
        double quota = gb_work_cpu_quota("");
        most = quota > 0 && quota < 1 << 16 ? (int)ceil(quota) : 1 << 16;
        __atomic_store_n(&allowed, most, __ATOMIC_RELAXED);
    }
    if (n > most) n = most;
    return n > 0 ? n : 1;
}

int gb_work_thread_count(void) {
    int n = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (n > 0) return n;
    const char *asked = gb_setting("GRIDBUF_NUM_THREADS");
    n = asked ? atoi(asked) : 0;
    return n > 0 ? n : processors();
}

void gb_work_set_thread_count(int n) { __atomic_store_n(&chosen, n, __ATOMIC_RELAXED); }

int gb_work_threads(int64_t bytes, int64_t enough) {
    if (bytes < enough) return 1;
    int64_t most = bytes / (enough / 2), n = gb_work_thread_count();
    return (int)(most < n ? most : n);
}

int64_t gb_work_batch(int64_t bytes, int64_t pieces, int64_t worth) {
    int64_t mean = pieces ? bytes / pieces : 1;
    return mean >= worth ? 1 : worth / (mean + 1) + 1;
}
