/* fork.h: a process that was forked from one that had used the driver. */
#pragma once

#include "error.h"

extern int gb_cu_in_child;   /* the driver was in use before the fork */
int gb_cu_after_fork(gb_cuda_error *e);
int gb_cu_watch_fork(void);
