/* stats_f32.c: row statistics of floats. */
#include "headers.h"
#include "f32.h"
#define TYPED(name) NAMED(name, base)
#define VECTOR 16
#include "stats_body.h"
