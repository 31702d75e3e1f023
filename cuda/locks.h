/* locks.h: the locks of this room. Whoever takes several takes them in this order, as fork does. */
#pragma once

#include "entries.h"

#include <pthread.h>

extern pthread_mutex_t gb_cu_making;   /* of pools */
extern pthread_mutex_t gb_cu_pool_locks[GB_CUDA_KINDS][GB_CUDA_MAX_DEVICES];
extern pthread_mutex_t gb_cu_live_lock, gb_cu_streams_lock, gb_cu_events_lock;
void gb_cu_lock_all(void);
void gb_cu_unlock_all(void);
