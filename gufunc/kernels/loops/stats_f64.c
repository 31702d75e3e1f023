/* stats_f64.c: row statistics of doubles. */
#include "headers.h"
#include "f64.h"
#define TYPED(name) NAMED(name, base)
#define VECTOR 16
#include "stats_body.h"
