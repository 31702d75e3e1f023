/* trace.h: with GRIDBUF_TRACE=1 every block remembers the Python line that asked for it; gridbuf.watch is told, too. */
#pragma once

#include "common.h"

extern int gb_py_tracing;
void gb_py_trace(void *data, int64_t bytes, uint64_t plan);
void gb_py_trace_init(void);
