/* f64_base.c: rows and matrices of float64 for every machine. */
#include "real.h"

#include "rows_body.h"
#include "matrices_body.h"
