/* matrices_f64_base.c: matrices of float64 for every machine. */
#include "real.h"

#include "matrices_body.h"
