/* f32_base.c: matrices of float32 for every machine, which take the compiler long. */
#include "f32.h"
#include "base.h"
#include "matrices_body.h"
