/* fork.h: a process that was forked from one that had used the driver. */
#ifndef GRIDBUF_CUDA_FORK_H
#define GRIDBUF_CUDA_FORK_H

#include "error.h"

extern int gb_cu_in_child;   /* the driver was in use before the fork */
int gb_cu_after_fork(gb_cuda_error *e);
int gb_cu_watch_fork(void);

#endif
