/* f64_base.c: matrices of float64 for every machine, which take the compiler long. */
#include "f64_base.h"
#include "matrices_body.h"
