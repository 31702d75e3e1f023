/* types.h: what crosses the border between C and Go. Plain data only; C zeroes it
 * before Go sees it, and no Go pointer ever enters it. */
#pragma once

#include "../alloc/errors.h"
#include "../alloc/plan.h"
