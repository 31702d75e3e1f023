/* pool.h: taking a block without saying who will use it. Everybody else takes them by gb_cuda_alloc (cuda.h). */
#pragma once

#include "cuda.h"

/* any_stream: nobody says which streams will use it. */
int gb_cu_alloc(const gb_cuda_request *request, int any_stream, gb_cuda_block **block, gb_cuda_error *e);
