/* locks.c: the locks of this room, in the order in which they may be taken; a fork holds them all, so that the child finds
 * whatever they guard whole. */
#include "locks.h"

pthread_mutex_t gb_cu_making = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t gb_cu_pool_locks[GB_CUDA_KINDS][GB_CUDA_MAX_DEVICES] = {
    [0 ... GB_CUDA_KINDS - 1] = {[0 ... GB_CUDA_MAX_DEVICES - 1] = PTHREAD_MUTEX_INITIALIZER},
};
pthread_mutex_t gb_cu_live_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t gb_cu_streams_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t gb_cu_events_lock = PTHREAD_MUTEX_INITIALIZER;

static void each_pool(int (*act)(pthread_mutex_t *)) {
    for (int kind = 0; kind < GB_CUDA_KINDS; kind++)
        for (int device = 0; device < GB_CUDA_MAX_DEVICES; device++) act(&gb_cu_pool_locks[kind][device]);
}

void gb_cu_lock_all(void) {
    pthread_mutex_lock(&gb_cu_making);
    each_pool(pthread_mutex_lock);
    pthread_mutex_lock(&gb_cu_live_lock);
    pthread_mutex_lock(&gb_cu_streams_lock);
    pthread_mutex_lock(&gb_cu_events_lock);
}

void gb_cu_unlock_all(void) {
    pthread_mutex_unlock(&gb_cu_events_lock);
    pthread_mutex_unlock(&gb_cu_streams_lock);
    pthread_mutex_unlock(&gb_cu_live_lock);
    each_pool(pthread_mutex_unlock);
    pthread_mutex_unlock(&gb_cu_making);
}
