/* rows_f32_base.c: rows of float32 for every machine. */
#include "f32.h"
#include "base.h"
#include "lanes.h"
#include "rows_body.h"
#include "fold_body.h"
