/* types.h: what crosses the border between C and Go. Plain data only; C zeroes it
 * before Go sees it, and no Go pointer ever enters it. */
#ifndef GRIDBUF_BRIDGE_TYPES_H
#define GRIDBUF_BRIDGE_TYPES_H

#include "../alloc/errors.h"
#include "../alloc/plan.h"

#endif
