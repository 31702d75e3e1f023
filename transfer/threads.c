/* threads.c: how many threads, and from what size on they pay; and work on the caller's alone. */
#define _GNU_SOURCE
#include "../alloc/clock.h"
#include "../alloc/process.h"
#include "job.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static int chosen;   /* 0: not set */

static int cores(void) {
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

int gb_copy_threads(void) {
    int n = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (n > 0) return n;
    const char *asked = gb_setting("GRIDBUF_NUM_THREADS");
    n = asked ? atoi(asked) : 0;
    return n > 0 ? n : cores();
}

void gb_copy_set_threads(int n) { __atomic_store_n(&chosen, n, __ATOMIC_RELAXED); }

int gb_work_threads(int64_t bytes, int64_t enough) {
    if (bytes < enough) return 1;
    int64_t most = bytes / (enough / 2), n = gb_copy_threads();
    return (int)(most < n ? most : n);
}

int64_t gb_work_batch(int64_t bytes, int64_t pieces, int64_t worth) {
    int64_t mean = pieces ? bytes / pieces : 1;
    return mean >= worth ? 1 : worth / (mean + 1) + 1;
}

/* Dense moves and fills run at the speed of the caches, the others at half of it. */
int gb_copy_job_threads(const gb_copy_job *job) {
    int64_t enough = job->kind == GB_COPY_MOVE || job->kind == GB_COPY_FILL ? 8 << 20 : 2 << 20;
    return job->ordered ? 1 : gb_work_threads(job->bytes, enough);
}

int64_t gb_copy_job_batch(const gb_copy_job *job) { return gb_work_batch(job->bytes, job->tiles, 512 << 10); }

int gb_work_go_on(gb_work *work, int64_t nanoseconds) {
    int64_t end = gb_nanoseconds() + nanoseconds, batch = 4 * work->batch;
    while (work->at < work->pieces) {
        int64_t stop = work->pieces - work->at < batch ? work->pieces : work->at + batch;
        gb_work_run(work, work->at, stop);
        work->at = stop;
        if (stop < work->pieces && gb_nanoseconds() >= end) return 0;
    }
    return 1;
}
