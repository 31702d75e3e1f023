/* headers.h: included before a file turns on its instruction set, so that inline
 * functions of the system stay what they are. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "../../../alloc/target.h"
#include "stats.h"

#define ITEM(p) (*(const REAL *)(p)) /* f32.h and f64.h say what is REAL */
