/* f64_base.c: matrices of float64 for every machine, which take the compiler long. */
#include "f64.h"
#include "base.h"
#include "matrices_body.h"
