/* cache.h: free blocks, and slabs that nobody uses. The caller holds the pool's lock for those that say so. */
#pragma once

#include "blocks.h"

void gb_cu_use(gb_cu_pool *pool, gb_cu_record *r);           /* lock; a free block is free no more */
void gb_cu_bin_push(gb_cu_pool *pool, gb_cu_record *r);      /* lock */
void gb_cu_cache_push(gb_cu_pool *pool, gb_cu_slab *slab);     /* lock */
int gb_cu_bin(int64_t size);
int64_t gb_cu_round(int64_t need);
