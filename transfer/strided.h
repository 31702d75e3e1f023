/* strided.h: moving single elements between places at regular distances. */
#pragma once

#include <stdint.h>

/* n elements of item bytes; neighbours are dst_step and src_step bytes apart. */
void gb_copy_strided(char *dst, int64_t dst_step, const char *src, int64_t src_step, int64_t n, int64_t item);
