/* stats_f64_base.c: row statistics of float64 for every machine. */
#include "real.h"

#include "stats_body.h"
