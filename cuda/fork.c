/* fork.c: a context does not survive fork. In the child, what was made before is let go of
 * without a word to the driver, and anything new is refused. A child of a process that
 * never used the driver may use it. */
#include "fork.h"
#include "locks.h"

int gb_cu_in_child;

int gb_cu_after_fork(gb_cuda_error *e) {
    return gb_cu_fail(e, GB_CUDA_FORKED, "CUDA cannot be used after fork: this process was forked from one that had used the GPU; "
                      "start workers with multiprocessing's \"spawn\" or \"forkserver\"");
}

static void before(void) { gb_cu_lock_all(); }
static void in_parent(void) { gb_cu_unlock_all(); }
static void in_child(void) { gb_cu_unlock_all(); gb_cu_in_child = 1; }

int gb_cu_watch_fork(void) {
    static int watching;
    if (!watching) pthread_atfork(before, in_parent, in_child);
    watching = 1;
    return 0;
}
