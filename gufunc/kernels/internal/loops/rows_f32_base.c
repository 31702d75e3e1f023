/* rows_f32_base.c: rows of float32 for every machine. */
#define SINGLE
#include "real.h"

#include "rows_body.h"
