/* bridge.h: the calls that enter Go. Only pyext/ includes this, and only through
 * GB_ENTER_GO, which refuses in a forked child. Each returns 0, or -1 with the
 * error filled in. agree.c holds these against what cgo generates. */
#ifndef GRIDBUF_BRIDGE_H
#define GRIDBUF_BRIDGE_H

#include "types.h"

int gbridge_start(gb_error *e);
int gbridge_plan(gb_request *request, gb_plan *plan, gb_error *e);
int gbridge_describe(gb_geometry *geometry, uintptr_t data, gb_plan *plan, gb_error *e);
int gbridge_refill(int64_t reserve, gb_error *e);
int gbridge_backend(char *name, gb_preset *preset, gb_error *e);
int gbridge_backends(char *names, int64_t room, int64_t *needed, gb_error *e);
int gbridge_register(char *name, gb_preset *preset, gb_error *e);
int gbridge_copy(void *copy, int64_t nanoseconds, gb_error *e);   /* a gb_copy, from where it is */
#ifdef GRIDBUF_PANIC
int gbridge_panic(gb_error *e);
#endif

#endif
