/* matrices_f32_base.c: matrices of float32 for every machine. */
#define SINGLE
#include "real.h"

#include "matrices_body.h"
