/* rows_f64_base.c: rows of float64 for every machine. */
#include "f64.h"
#include "base.h"
#include "lanes.h"
#include "rows_body.h"
#include "fold_body.h"
