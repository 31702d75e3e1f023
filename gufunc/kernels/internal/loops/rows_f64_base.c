/* rows_f64_base.c: rows of float64 for every machine. */
#include "real.h"

#include "rows_body.h"
