/* interface.h: what __cuda_array_interface__ says beyond the array interface. All else is read by
 * ../arrayinterface, for both; here, too, is neither Python nor Go. */
#pragma once

#include "../alloc/errors.h"

/* Each returns 0, or -1 with what is wrong in e. */
int gb_interface_cuda_version(int64_t version, gb_error *e);
int gb_interface_cuda_stream(int64_t stream, gb_error *e); /* one that is there and not None */
