/* f32_base.c: rows and matrices of float32 for every machine. */
#define SINGLE
#include "real.h"

#include "rows_body.h"
#include "matrices_body.h"
