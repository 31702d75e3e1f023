/* trace.h: the observers of gridbuf's own blocks, called as each is taken: GRIDBUF_TRACE, and
 * gridbuf.watch. */
#pragma once

#include "common.h"

#define GB_PY_TRACE_LINES \
    1 /* GRIDBUF_TRACE=1: every block remembers the Python line that asked for it */
#define GB_PY_TRACE_BLOCKS 2 /* gb_py_on_block is set */

extern int gb_py_tracing; /* 0, or which of them */

/* Called with the GIL for each block; pyext/watch sets it while it notes. */
extern void (*gb_py_on_block)(void *data, int64_t bytes);

void gb_py_trace(void *data, int64_t bytes, uint64_t plan);
