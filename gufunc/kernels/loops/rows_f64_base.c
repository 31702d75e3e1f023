/* rows_f64_base.c: rows of float64 for every machine. */
#include "f64_base.h"
#include "lanes.h"
#include "rows_body.h"
#include "fold_body.h"
