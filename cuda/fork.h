/* fork.h: the locks of this room, which a fork holds, and a process that was forked from one that
 * had used the driver. */
#pragma once

#include "error.h"

#include <pthread.h>

/* Whoever takes several takes them in this order, as fork does. */
extern pthread_mutex_t gb_cu_making; /* of pools */
extern pthread_mutex_t gb_cu_pool_locks[GB_CUDA_KINDS][GB_CUDA_MAX_DEVICES];
extern pthread_mutex_t gb_cu_live_lock, gb_cu_streams_lock, gb_cu_events_lock;

extern int gb_cu_in_child; /* the driver was in use before the fork */
int gb_cu_after_fork(gb_cuda_error *e);
int gb_cu_watch_fork(void);
