/* stats_f32_base.c: row statistics of float32 for every machine. */
#define SINGLE
#include "real.h"

#include "stats_body.h"
