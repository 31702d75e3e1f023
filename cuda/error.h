/* error.h: what went wrong, in one sentence. Each fills in the error, when there is one to fill,
 * and gives -1. */
#pragma once

#include "entries.h"

int gb_cu_fail(gb_cuda_error *e, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int gb_cu_says(gb_cuda_error *e, CUresult code, const char *call); /* 0 when code is success */
char *gb_cu_size(char room[32], int64_t bytes);                    /* "1.5 GiB" */

/* Call an entry point; 0 or -1 with what the driver said. */
#define GB_CU(e, name, ...) gb_cu_says((e), gb_cu.name(__VA_ARGS__), #name)
