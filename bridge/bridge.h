/* bridge.h: the calls that enter Go. Only pyext/ includes this, and only through
 * GB_PY_ENTER_GO, which refuses in a forked child. Each returns 0, or -1 with the
 * error filled in. agree.c holds these against what cgo generates. */
#pragma once

#include "types.h"

int gbridge_start(gb_error *e);
int gbridge_work(void *work, int64_t nanoseconds, gb_error *e);   /* a gb_work, from where it is */
int gbridge_explain(int32_t *dims, int32_t ndim, int64_t *words, int64_t n, char *text, int64_t room, gb_error *e);   /* lines of a term, a tab and a sentence */
#ifdef GRIDBUF_PANIC
int gbridge_panic(gb_error *e);
#endif
