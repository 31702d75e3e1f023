/* fork.c: a context does not survive fork. In the child, what was made before is let go of
 * without a word to the driver, and anything new is refused. A child of a process that
 * never used the driver may use it. The fork holds all locks, so that the child finds whatever
 * they guard whole. */
#include "fork.h"

int gb_cu_in_child;
pthread_mutex_t gb_cu_making = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t gb_cu_pool_locks[GB_CUDA_KINDS][GB_CUDA_MAX_DEVICES] = {
    [0 ... GB_CUDA_KINDS - 1] = {[0 ... GB_CUDA_MAX_DEVICES - 1] = PTHREAD_MUTEX_INITIALIZER},
};
pthread_mutex_t gb_cu_live_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t gb_cu_streams_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t gb_cu_events_lock = PTHREAD_MUTEX_INITIALIZER;

int gb_cu_after_fork(gb_cuda_error *e) {
    return gb_cu_fail(
        e, GB_CUDA_FORKED,
        "CUDA cannot be used after fork: this process was forked from one that had used the GPU; "
        "start workers with multiprocessing's \"spawn\" or \"forkserver\"");
}

/* In the order in which they may be taken; letting them go knows none. */
static void each(int (*act)(pthread_mutex_t *)) {
    act(&gb_cu_making);
    for (int kind = 0; kind < GB_CUDA_KINDS; kind++)
        for (int device = 0; device < GB_CUDA_MAX_DEVICES; device++)
            act(&gb_cu_pool_locks[kind][device]);
    act(&gb_cu_live_lock);
    act(&gb_cu_streams_lock);
    act(&gb_cu_events_lock);
}

static void before(void) { each(pthread_mutex_lock); }
static void in_parent(void) { each(pthread_mutex_unlock); }
static void in_child(void) {
    each(pthread_mutex_unlock);
    gb_cu_in_child = 1;
}

int gb_cu_watch_fork(void) {
    static int watching;
    if (!watching) pthread_atfork(before, in_parent, in_child);
    watching = 1;
    return 0;
}
