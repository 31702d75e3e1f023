/* copy.h: what copies by one call of the driver have in common. */
#pragma once

#include "context.h"

int gb_cu_check_copy(int direction, int64_t bytes, gb_cuda_error *e);
