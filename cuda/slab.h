/* slab.h: new memory for a pool. */
#pragma once

#include "blocks.h"

/* Its first block is in use, and counted; without the lock. */
gb_cu_slab *gb_cu_new_slab(gb_cu_pool *pool, int64_t size, gb_cu_key key, gb_cuda_stream stream, gb_cuda_error *e);
